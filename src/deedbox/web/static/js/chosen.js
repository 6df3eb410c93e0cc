// Files that a page takes: dropped or chosen, put in order, sent with their progress.
import { $, all, filled } from './page.js';
import { draggable, moved } from './order.js';

export const size = bytes => bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1e3))} KB` : `${(bytes / 1e6).toFixed(1)} MB`;

// What is dropped on an area is taken as if it had been chosen.
export function dropped(area, take) {
  for (const name of ['dragenter', 'dragover']) area.addEventListener(name, event => {
    if (!event.dataTransfer.types.includes('Files')) return; // a row that changes places
    event.preventDefault();
    area.classList.add('over');
  });
  for (const name of ['dragleave', 'drop']) area.addEventListener(name, () => area.classList.remove('over'));
  area.addEventListener('drop', event => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    take([...event.dataTransfer.files]);
  });
}

// The files become those of the input, as if they had been chosen in it.
export function hold(input, files) {
  const data = new DataTransfer();
  for (const file of files) data.items.add(file);
  input.files = data.files;
}

// The row of a file, made of the page's template for it.
export function rowOf(template, file) {
  const row = template.content.firstElementChild.cloneNode(true);
  $('.name', row).textContent = file.name;
  $('.size', row).textContent = size(file.size);
  for (const told of all('.tools .unseen', row)) told.textContent = told.parentElement.title = filled(told.textContent, { file: file.name });
  return row;
}

// Says beside a file why it is refused; nothing takes it back.
export function refuse(row, reason) {
  const wrong = $('.wrong', row);
  $('span', wrong).textContent = reason;
  wrong.hidden = !reason;
  row.classList.toggle('refused', Boolean(reason));
}

// Chosen files in their order. `row` makes an element of a file, with buttons data-up, data-down and data-out;
// `changed` follows whatever is added, moved or taken out; when the last is out, `input` has the focus.
export function ordered(list, { row, changed, input }) {
  const files = new WeakMap(), rows = () => [...list.children];
  function settled() {
    list.hidden = !rows().length;
    rows().forEach((one, at) => {
      $('[data-up]', one).disabled = at === 0;
      $('[data-down]', one).disabled = at === rows().length - 1;
    });
    changed();
  }
  list.addEventListener('click', event => {
    const button = event.target.closest('button'), here = button?.closest('li');
    if (!here) return;
    if ('out' in button.dataset) {
      const next = here.nextElementSibling ?? here.previousElementSibling;
      here.remove();
      settled();
      return (next ? $('[data-out]', next) : input).focus();
    }
    moved(here, 'up' in button.dataset ? -1 : 1);
    settled();
    (button.disabled ? $('[data-up]:not(:disabled), [data-down]:not(:disabled)', here) : button).focus();
  });
  draggable(list, 'li', 'ol', settled);
  return {
    rows,
    file: one => files.get(one),
    files: () => rows().map(one => files.get(one)),
    add(chosen, instead = false) {
      if (instead) list.replaceChildren();
      for (const file of chosen) {
        const made = row(file);
        files.set(made, file);
        list.append(made);
      }
      settled();
    },
  };
}

// Sends a form without leaving the page, so that a refusal does not cost what was chosen; XMLHttpRequest, because fetch
// tells no progress. Gives whether it was taken, the JSON that came back, and the address where it ended.
export function sent(address, body, progress) {
  return new Promise(done => {
    const asked = new XMLHttpRequest();
    asked.open('POST', address);
    asked.setRequestHeader('Accept', 'application/json');
    asked.responseType = 'json';
    asked.upload.addEventListener('progress', ({ loaded, total }) => progress(loaded / total));
    asked.addEventListener('loadend', () => done({
      taken: asked.status >= 200 && asked.status < 300, answer: asked.response, at: asked.responseURL,
    }));
    asked.send(body);
  });
}
