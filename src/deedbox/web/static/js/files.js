// Files of a form: dropped or chosen, listed in their order, sent with their progress. What is refused is said beside
// its file, and nothing that was chosen or typed is lost: the page stays.
import { $, all, filled, made } from './page.js';

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
    show();
  }
  function button(label, name, act) {
    const word = filled(label, { name });
    return made('button', { class: 'btn plain', type: 'button', 'aria-label': word, title: word, onclick: act }, label === words.up ? '↑' : '×');
  }
  function show(wrongName = '', said = '') {
    list.hidden = !input.multiple || !files.length;
    list.replaceChildren(...files.map((file, at) => {
      const row = made('li', {}, made('span', { class: 'grow', dir: 'auto' }, file.name), made('span', { class: 'small' }, size(file.size)));
      if (at) row.append(button(words.up, file.name, () => keep(files.with(at, files[at - 1]).with(at - 1, file))));
      row.append(button(words.remove, file.name, () => keep(files.filter(one => one !== file))));
      if (file.name === wrongName) row.append(made('p', { class: 'wrong', role: 'alert' }, said));
      return row;
    }));
  }
  function wrong(said) {
    // A refusal that begins with the name of a file stands beside it.
    const named = files.find(file => said.startsWith(`${file.name}: `));
    const rest = named ? said.slice(named.name.length + 2) : said;
    const beside = named && input.multiple;
    if (beside) show(named.name, rest);
    $('span', error).textContent = beside ? '' : said;
    error.hidden = !said || beside;
    input.toggleAttribute('aria-invalid', Boolean(said));
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
  return { wrong, bar: $('[data-progress]', root), failed: words.failed };
}

const size = bytes => bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} KB` : `${(bytes / 1e6).toFixed(1)} MB`;

// Sent without leaving the page, so that a refusal does not cost what was chosen.
function sends(form, shown) {
  form.addEventListener('submit', event => {
    event.preventDefault();
    const body = new FormData(form, event.submitter), asked = new XMLHttpRequest(), buttons = all('button', form);
    asked.open('POST', form.action);
    asked.setRequestHeader('Accept', 'application/json');
    asked.upload.addEventListener('progress', told => { shown.bar.value = told.loaded / told.total; });
    asked.addEventListener('loadend', () => {
      if (asked.status >= 200 && asked.status < 300) return location.assign(asked.responseURL);
      for (const button of buttons) button.disabled = false;
      shown.bar.hidden = true;
      let said = shown.failed;
      try { said = JSON.parse(asked.responseText).error; } catch { /* no answer of the server's */ }
      shown.wrong(said);
    });
    for (const button of buttons) button.disabled = true;
    shown.bar.hidden = false;
    shown.wrong('');
    asked.send(body);
  });
}

for (const root of all('[data-drop]')) sends(root.closest('form'), box(root));
