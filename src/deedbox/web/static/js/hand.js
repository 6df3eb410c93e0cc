// A signature or initials: drawn, typed or a photo. What it is stands in inputs of the form, like all else.
import { $, all, memory } from './page.js';
import { HEIGHT, WIDTH, pad, picture } from './pad.js';
import { form } from './fields.js';

const PAUSE = 300; // milliseconds after the last letter before its picture is asked for
const SIDE = 1600; // pixels of a photo, which is enough for a signature

export function hand(step, words, changed) {
  const { element: root, kind: mark } = step, part = name => form.elements[`${mark}-${name}`];
  const text = form.elements[mark], place = `${location.pathname} ${mark}`;
  const strokes = restored(part('strokes').value || memory.getItem(place));
  let photo = null, timer = 0;
  const way = () => part('kind').value;
  const script = () => part('hand').value;

  function kept() {
    const said = strokes.length ? JSON.stringify({ strokes, width: WIDTH, height: HEIGHT }) : '';
    part('strokes').value = said;
    if ('shared' in form.dataset) return; // a device that goes from hand to hand keeps nothing
    if (said) memory.setItem(place, said); else memory.removeItem(place);
  }
  function drawn() {
    kept();
    for (const button of all('[data-undo], [data-clear]', root)) button.hidden = !strokes.length;
    $('.pad .guess', root).hidden = strokes.length > 0;
    changed();
  }
  function chosen() {
    for (const each of all('[data-way]', root)) each.hidden = each.dataset.way !== way();
    typed();
  }
  const written = name => `${form.getAttribute('action')}/hand.svg?text=${encodeURIComponent(text.value.trim())}&hand=${name}`;
  // Its pictures are asked for once they are looked at.
  function typed() {
    const looked = way() === 'typed' && step.seen && text.value.trim();
    for (const image of all('.hands img', root)) if (looked) image.src = written(image.dataset.hand);
    changed();
  }
  async function taken(event) {
    const file = event.target.files[0];
    photo = null;
    part('image').value = '';
    if (file) {
      const small = await reduced(file, Number(event.target.dataset.most));
      part('image').value = await dataUrl(small);
      photo = URL.createObjectURL(small);
      const shown = $('.photo', root);
      shown.src = photo;
      shown.hidden = false;
    }
    changed();
  }
  function start() {
    for (const each of all('[data-script]', root)) each.hidden = each.disabled = false;
    const drawing = pad($('svg', root), strokes, drawn);
    $('[data-undo]', root).addEventListener('click', drawing.undo);
    $('[data-clear]', root).addEventListener('click', drawing.clear);
    for (const radio of part('kind')) radio.addEventListener('change', chosen);
    for (const radio of part('hand')) radio.addEventListener('change', changed);
    text.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(typed, PAUSE); });
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
      const image = new Image(), source = way() === 'typed' ? text.value.trim() && written(script()) : photo;
      if (!source) return '';
      image.src = source;
      image.alt = '';
      return image;
    },
    look: typed,
    forget: () => memory.removeItem(place),
  };
}

function restored(said) {
  try {
    return said ? JSON.parse(said).strokes : [];
  } catch {
    return [];
  }
}

// A photo that a phone makes is larger than what is taken.
async function reduced(file, most) {
  if (file.size <= most) return file;
  const image = await createImageBitmap(file), scale = Math.min(1, SIDE / Math.max(image.width, image.height));
  const canvas = document.createElement('canvas');
  canvas.width = Math.round(image.width * scale);
  canvas.height = Math.round(image.height * scale);
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise(done => canvas.toBlob(done, 'image/jpeg', .85));
}

const dataUrl = blob => new Promise((done, failed) => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result);
  reader.onerror = () => failed(reader.error);
  reader.readAsDataURL(blob);
});
