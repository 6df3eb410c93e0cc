// A signature or initials: drawn, typed or a photo. What it is stands in inputs of the form, like all else.
import { $, all, memory } from './page.js';
import { HEIGHT, WIDTH, pad, picture } from './pad.js';
import { form } from './fields.js';

const PAUSE = 300; // milliseconds after the last letter before its picture is asked for
const KINDS = ['image/png', 'image/jpeg'];
const SIDE = 1600; // pixels of a photo, which is enough for a signature

export function hand(step, words, { changed, paint, wrong }) {
  const { element: root, kind: mark } = step, part = name => form.elements[`${mark}-${name}`];
  const text = form.elements[mark], place = `${location.pathname} ${mark}`;
  const strokes = restored();
  let photo = null, timer = 0, painted = '';
  const way = () => part('kind').value;
  const script = () => part('hand').value;

  // What this tab remembers is newer than what the page came with.
  function restored() {
    const known = parsed(memory.getItem(place));
    for (const name of ['kind', 'hand']) if (known[name]) part(name).value = known[name];
    text.value = known.text ?? text.value;
    return known.strokes ?? parsed(part('strokes').value).strokes ?? [];
  }
  function kept() {
    part('strokes').value = strokes.length ? JSON.stringify({ strokes, width: WIDTH, height: HEIGHT }) : '';
    if ('shared' in form.dataset) return; // a device that goes from hand to hand keeps nothing
    memory.setItem(place, JSON.stringify({ strokes, kind: way(), hand: script(), text: text.value }));
  }
  function drawn() {
    kept();
    const tools = all('[data-undo], [data-clear]', root);
    if (!strokes.length && tools.includes(document.activeElement)) $('.ask', root).focus({ preventScroll: true }); // before they are hidden
    for (const button of tools) button.hidden = !strokes.length;
    $('.pad .guess', root).hidden = strokes.length > 0;
    changed();
  }
  function chosen() {
    kept();
    for (const each of all('[data-way]', root)) each.hidden = each.dataset.way !== way();
    typed();
  }
  const written = name => `${form.getAttribute('action')}/hand.svg?text=${encodeURIComponent(painted)}&hand=${name}`;
  // Its pictures are asked for once they are looked at.
  function typed() {
    painted = text.value.trim();
    const looked = way() === 'typed' && step.seen && painted;
    for (const image of all('.hands img', root)) if (looked) image.src = written(image.dataset.hand);
    paint();
  }
  async function taken({ target }) {
    const file = target.files[0], shown = $('.photo', root);
    const small = file && await reduced(file, target.dataset).catch(() => null);
    const image = small ? await dataUrl(small) : '', { ink, isSmall, problem } = image ? await sealed(image) : {};
    if (target.files[0] !== file) return; // another has been chosen meanwhile
    if (photo) URL.revokeObjectURL(photo);
    photo = ink ? URL.createObjectURL(ink) : null;
    part('image').value = ink ? image : '';
    if (photo) $('img', shown).src = photo;
    shown.hidden = !photo;
    $('[data-small]', shown).hidden = !isSmall;
    changed();
    if (file && !ink) wrong(step, problem ?? words.bad_photo);
  }
  // The photo as it will be sealed: the server cuts out its ink.
  async function sealed(image) {
    const headers = { 'Content-Type': 'application/json' }, body = JSON.stringify({ kind: 'uploaded', image });
    try {
      const answer = await fetch(`${form.getAttribute('action')}/photo.png`, { method: 'POST', headers, body });
      if (answer.ok) return { ink: await answer.blob(), isSmall: answer.headers.get('Ink') === 'small' };
      return { problem: (await answer.json()).error };
    } catch {
      return { problem: words.upload_failed };
    }
  }
  function start() {
    for (const each of all('[data-script]', root)) each.hidden = each.disabled = false;
    const drawing = pad($('svg', root), strokes, drawn);
    $('[data-undo]', root).addEventListener('click', drawing.undo);
    $('[data-clear]', root).addEventListener('click', drawing.clear);
    for (const radio of part('kind')) radio.addEventListener('change', chosen);
    for (const radio of part('hand')) radio.addEventListener('change', () => { kept(); changed(); });
    text.addEventListener('input', () => { kept(); clearTimeout(timer); timer = setTimeout(typed, PAUSE); });
    $('input[type=file]', root)?.addEventListener('change', taken);
    drawn();
    chosen();
  }
  start();

  return {
    isReady: () => way() === 'drawn' ? strokes.length > 0 : way() === 'typed' ? text.value.trim() !== '' : photo !== null,
    said: () => way() === 'typed' ? text.value.trim() : way() === 'drawn' ? (strokes.length ? words.drawn : '') : photo ? words.photo : '',
    picture() {
      if (way() === 'drawn') return strokes.length ? picture(strokes) : '';
      const image = new Image(), source = way() === 'typed' ? text.value.trim() && painted && written(script()) : photo;
      if (!source) return '';
      image.src = source;
      image.alt = '';
      return image;
    },
    look: typed,
  };
}

function parsed(said) {
  try {
    return JSON.parse(said) ?? {};
  } catch {
    return {};
  }
}

// A photo that a phone makes is larger than what is taken, in bytes or in pixels; it fails if it is no picture.
async function reduced(file, { most, pixels }) {
  const image = await createImageBitmap(file);
  if (KINDS.includes(file.type) && file.size <= most && image.width * image.height <= pixels) return file;
  const scale = Math.min(1, SIDE / Math.max(image.width, image.height)), canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(image.width * scale));
  canvas.height = Math.max(1, Math.round(image.height * scale));
  const drawing = canvas.getContext('2d');
  drawing.fillStyle = '#fff'; // there is no transparency in a JPEG
  drawing.fillRect(0, 0, canvas.width, canvas.height);
  drawing.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise(done => canvas.toBlob(done, 'image/jpeg', .85));
}

const dataUrl = blob => new Promise((done, failed) => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result);
  reader.onerror = () => failed(reader.error);
  reader.readAsDataURL(blob);
});
