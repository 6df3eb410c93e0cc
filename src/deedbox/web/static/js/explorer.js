// The form that tries an operation. The key lives in this module's memory alone: it is in no address, no storage, no
// attribute, and is sent in a header to this server only.
import { $, all, filled, made } from './page.js';

const bar = $('[data-explorer]'), words = bar.dataset, box = $('#key');
const MOST = 200000; // characters of an answer that are shown
let key = '';

box.addEventListener('input', () => { key = box.value.trim(); });
addEventListener('pagehide', () => { key = box.value = ''; }); // also from a page that the browser keeps for going back

function input(form, name, label, attributes, hint = '') {
  const id = `${form.id}-${name}`;
  const element = made(attributes.rows ? 'textarea' : 'input', { class: 'input', id, spellcheck: 'false', autocomplete: 'off', ...attributes });
  form.append(made('div', { class: 'field' }, made('label', { for: id }, label, hint && made('span', { class: 'small' }, ` ${hint}`)), element));
  return element;
}

function asked(told, boxes) {
  let path = told.path;
  const query = new URLSearchParams(), headers = {};
  for (const [one, element] of boxes.parameters) {
    const value = element.value;
    if (one.in === 'path') path = path.replace(`{${one.name}}`, encodeURIComponent(value));
    else if (value && one.in === 'query') query.append(one.name, value);
    else if (value && one.in === 'header') headers[one.name] = value;
  }
  if (told.keyed) headers.Authorization = `Bearer ${key}`;
  let body;
  if (boxes.file?.files.length) {
    body = new FormData();
    body.append('file', boxes.file.files[0]);
  } else if (boxes.body && boxes.body.value.trim()) {
    body = boxes.body.value;
    headers['Content-Type'] = 'application/json';
  }
  const address = query.size ? `${path}?${query}` : path;
  return [address, { method: told.method, headers, body, credentials: 'omit', cache: 'no-store', redirect: 'manual', referrerPolicy: 'no-referrer' }];
}

async function read(answer) {
  const kind = answer.headers.get('Content-Type') ?? '';
  if (!/json|text|xml|pem|event-stream/.test(kind)) return filled(words.bytes, { count: (await answer.blob()).size, kind });
  let text = await answer.text();
  if (kind.includes('json')) try { text = JSON.stringify(JSON.parse(text), null, 2); } catch { /* as it came */ }
  return text.length > MOST ? text.slice(0, MOST) + filled(words.cut, { count: text.length - MOST }) : text;
}

function build(place) {
  const told = JSON.parse(place.dataset.try);
  const form = made('form', { class: 'stack', id: `try-${place.parentElement.id}` });
  const boxes = { parameters: told.parameters.map(one => [one, input(form, one.name, one.name, one.required ? { required: '', value: one.example } : {}, one.in)]) };
  if (told.body !== null) boxes.body = input(form, 'body', words.body, { rows: '8' });
  if (boxes.body) boxes.body.value = told.body;
  if (told.file) boxes.file = input(form, 'file', words.file, { type: 'file', required: '' });
  const output = made('pre', { class: 'code', tabindex: '0', role: 'status', 'aria-label': words.answer });
  output.hidden = true;
  form.append(made('div', { class: 'row wrap' }, made('button', { class: 'btn main' }, words.send), told.method === 'GET' ? '' : made('span', { class: 'small' }, words.real)), output);
  form.addEventListener('submit', async event => {
    event.preventDefault();
    if (told.keyed && !key) return box.focus();
    output.hidden = false;
    output.textContent = words.waiting;
    try {
      const answer = await fetch(...asked(told, boxes));
      const head = [...answer.headers].map(([name, value]) => `${name}: ${value}`).join('\n');
      output.textContent = `${answer.status || 303} ${answer.statusText}\n${head}\n\n${await read(answer)}`;
    } catch {
      output.textContent = words.unreached;
    }
  });
  place.append(form);
}

bar.hidden = false;
for (const place of all('[data-try]')) {
  place.hidden = false;
  place.addEventListener('toggle', () => build(place), { once: true });
}
