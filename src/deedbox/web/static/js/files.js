// Files of a form: dropped or chosen, listed in their order, sent with their progress. What is refused is said beside
// its file, and nothing that was chosen or typed is lost: the page stays.
import { $, all, filled, made } from './page.js';
import { forget, tell } from './wrong.js';

const SIGNS = { up: '↑', down: '↓', remove: '×' };

function box(root) {
  const input = $('input[type=file]', root), list = $('[data-chosen]', root), words = root.dataset;
  const error = $('[role=alert]', root);
  let files = [];

  function keep(chosen) {
    const data = new DataTransfer();
    for (const file of chosen) data.items.add(file);
    files = chosen;
    input.files = data.files;
    wrong('');
  }
  function button(act, name, onclick) {
    const word = filled(words[act], { name });
    return made('button', { class: 'btn plain', type: 'button', 'aria-label': word, title: word, 'data-act': act, onclick }, SIGNS[act]);
  }
  // The list is made anew: who pressed a button goes on from the same one.
  function move(at, step) {
    keep(files.with(at, files[at + step]).with(at + step, files[at]));
    const act = step < 0 ? 'up' : 'down', row = list.children[at + step];
    ($(`[data-act=${act}]:not(:disabled)`, row) ?? $('[data-act]:not(:disabled)', row)).focus();
  }
  function remove(at) {
    keep(files.toSpliced(at, 1));
    const next = list.children[Math.min(at, files.length - 1)];
    (next ? $('[data-act=remove]', next) : input).focus();
  }
  function show(wrongName = '', said = '') {
    list.hidden = !input.multiple || !files.length;
    list.replaceChildren(...files.map((file, at) => {
      const row = made('li', {}, made('span', { class: 'grow', dir: 'auto' }, file.name), made('span', { class: 'small' }, size(file.size)));
      const up = button('up', file.name, () => move(at, -1)), down = button('down', file.name, () => move(at, 1));
      up.disabled = at === 0;
      down.disabled = at === files.length - 1;
      row.append(up, down, button('remove', file.name, () => remove(at)));
      if (file.name === wrongName) row.append(made('p', { class: 'wrong', role: 'alert' }, said));
      return row;
    }));
  }
  function wrong(said) {
    // A refusal that begins with the name of a file stands beside it.
    const named = files.find(file => said.startsWith(`${file.name}: `));
    const rest = named ? said.slice(named.name.length + 2) : said;
    const beside = named && input.multiple;
    show(beside ? named.name : '', rest);
    $('span', error).textContent = beside ? '' : said;
    error.hidden = !said || beside;
    if (said) input.setAttribute('aria-invalid', 'true');
    else input.removeAttribute('aria-invalid');
  }
  const added = chosen => keep(input.multiple ? [...files, ...chosen.filter(one => !files.some(file => file.name === one.name && file.size === one.size))] : chosen.slice(0, 1));

  $('[data-hint]', root).hidden = false;
  input.addEventListener('change', () => added([...input.files]));
  for (const name of ['dragenter', 'dragover']) root.addEventListener(name, event => {
    event.preventDefault();
    root.classList.add('over');
  });
  for (const name of ['dragleave', 'drop']) root.addEventListener(name, () => root.classList.remove('over'));
  root.addEventListener('drop', event => {
    event.preventDefault();
    if (event.dataTransfer.files.length) added([...event.dataTransfer.files]);
  });
  return { name: input.name, wrong, bar: $('[data-progress]', root), failed: words.failed };
}

const size = bytes => bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} KB` : `${(bytes / 1e6).toFixed(1)} MB`;

// Sent without leaving the page, so that a refusal does not cost what was chosen.
function sends(form, shown) {
  form.addEventListener('submit', event => {
    event.preventDefault();
    shown.wrong('');
    forget(form);
    const body = new FormData(form, event.submitter), asked = new XMLHttpRequest(), buttons = all('button', form);
    asked.open('POST', form.action);
    asked.setRequestHeader('Accept', 'application/json');
    asked.upload.addEventListener('progress', told => { shown.bar.value = told.loaded / told.total; });
    asked.addEventListener('loadend', () => {
      if (asked.status >= 200 && asked.status < 300) return location.assign(asked.responseURL);
      for (const button of buttons) button.disabled = false;
      shown.bar.hidden = true;
      let said = { error: shown.failed };
      try { said = JSON.parse(asked.responseText); } catch { /* no answer of the server's */ }
      const { [shown.name]: file = '', ...others } = said.wrong ?? {};
      shown.wrong(file);
      tell(form, file || Object.keys(others).length ? others : { '': said.error });
    });
    for (const button of buttons) button.disabled = true;
    shown.bar.hidden = false;
    asked.send(body);
  });
}

for (const root of all('[data-drop]')) sends(root.closest('form'), box(root));
