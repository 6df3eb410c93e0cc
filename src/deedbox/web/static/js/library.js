// Files for the library: dropped or chosen, each sent in a request of its own, with its progress. What is refused stays
// in view with its reason until it is dismissed.
import { $, made } from './page.js';
import { dropped, sent } from './chosen.js';
import { refresh } from './live.js';

const form = $('[data-intake]'), input = form.file, list = $('[data-sent]'), words = form.dataset;
const live = $('[data-live="files"]'), choose = $('[data-choose]', form);
const waiting = [];
const AT_ONCE = 2; // the server reads each in a sandbox
let going = 0;

function row(file) {
  const bar = made('progress', { max: '1', value: '0', 'aria-label': file.name }), state = made('span', { class: 'small' }, words.sending);
  const item = made('li', {}, made('span', { class: 'grow', dir: 'auto' }, file.name), bar, state);
  list.append(item);
  list.hidden = false;
  return { item, bar, state };
}

function remove(item) {
  item.remove();
  list.hidden = !list.children.length;
}

function refused({ item, bar, state }, reason) {
  const dismiss = made('button', { class: 'btn plain', type: 'button', onclick: () => { remove(item); choose.focus(); } }, words.dismiss);
  bar.remove();
  state.replaceWith(made('p', { class: 'wrong', role: 'alert' }, `${words.refused}: ${reason}`), dismiss);
}

function next() {
  while (going < AT_ONCE && waiting.length) send(...waiting.shift());
}

async function send(file, shown) {
  const body = new FormData();
  going += 1;
  body.append('file', file);
  const { taken, answer } = await sent(form.getAttribute('action'), body, part => {
    if (part < 1) return shown.bar.value = part;
    shown.bar.removeAttribute('value'); // the server reads it now, and nobody knows how long
    shown.state.textContent = words.reading;
  });
  going -= 1;
  if (taken) {
    remove(shown.item);
    refresh(live).catch(() => {});
  } else refused(shown, answer?.error ?? words.unsent);
  next();
}

function take(files) {
  for (const file of files) {
    const shown = row(file);
    if (file.size > Number(words.most)) refused(shown, words.tooLarge);
    else waiting.push([file, shown]);
  }
  input.value = '';
  next();
}

input.multiple = true;
input.classList.add('unseen');
input.tabIndex = -1; // its button is there
$('[data-plain]', form).hidden = true;
choose.hidden = false;
choose.addEventListener('click', () => input.click());
input.addEventListener('change', () => take([...input.files]));
dropped(form, take);
// While something is on its way, leaving would lose it.
addEventListener('beforeunload', event => { if (going) event.preventDefault(); });
