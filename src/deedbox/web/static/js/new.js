// Files for a new document: dropped or chosen, put in order, sent with their progress; what is refused stays listed.
import { $, all, filled } from './page.js';
import { draggable, moved } from './order.js';

const form = $('#new'), input = $('#file'), list = $('#chosen'), title = $('#title'), drop = $('#drop');
const going = $('#going'), bar = $('progress', going), words = form.dataset;
const files = new WeakMap();
let guessed = '', sending = false;

const rows = () => [...list.children];
const size = bytes => bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1e3))} KB` : `${(bytes / 1e6).toFixed(1)} MB`;

function trouble(text) {
  const note = $('#trouble');
  $('span', note).textContent = text;
  note.hidden = !text;
  if (text) note.scrollIntoView({ block: 'nearest' });
}

function refuse(row, reason, code = '') {
  const wrong = $('.wrong', row);
  $('span', wrong).textContent = reason;
  wrong.hidden = !reason;
  if (code === 'locked') $('.password', row).hidden = false;
  row.classList.toggle('refused', Boolean(reason));
  return row;
}

function settled() {
  list.hidden = !rows().length;
  rows().forEach((row, at) => {
    $('[data-up]', row).disabled = at === 0;
    $('[data-down]', row).disabled = at === rows().length - 1;
  });
  if (title.value === guessed) {
    const first = rows()[0], name = first ? files.get(first).name : '';
    title.value = guessed = name.replace(/\.\w+$/, '').replace(/[\s_]+/g, ' ').trim().slice(0, title.maxLength);
  }
}

function add(chosen) {
  trouble('');
  for (const file of chosen) {
    if (rows().length >= Number(words.mostFiles)) { trouble(words.tooMany); break; }
    const row = $('#file-row').content.firstElementChild.cloneNode(true), box = $('.password input', row);
    box.id = `password-${Math.random().toString(36).slice(2)}`;
    $('.password label', row).htmlFor = box.id;
    $('.name', row).textContent = file.name;
    $('.size', row).textContent = size(file.size);
    for (const button of all('.tools button', row)) button.title = $('.unseen', button).textContent;
    for (const told of all('.tools .unseen', row)) told.textContent = filled(told.textContent, { file: file.name });
    files.set(row, file);
    list.append(row);
    if (file.size > Number(words.mostBytes)) refuse(row, words.tooLarge);
  }
  input.value = '';
  $('#said').textContent = filled(words.added, { files: rows().length });
  settled();
}

function told(answer) {
  const said = answer ?? {};
  for (const row of rows()) refuse(row, '');
  const refused = Object.entries(said.files ?? {}).map(([at, { reason, code }]) => refuse(rows()[at], reason, code));
  if (refused.length) {
    const box = $('.password:not([hidden]) input', refused[0]);
    (box ?? $('[data-drop]', refused[0])).focus();
  } else trouble(Object.values(said.wrong ?? {})[0] || said.error || words.lost);
}

function send() {
  const body = new FormData(), asked = new XMLHttpRequest();
  for (const name of ['once', 'title', 'language']) body.append(name, form.elements[name].value);
  rows().forEach((row, at) => {
    const password = $('.password input', row).value;
    if (password) body.append(`unlock.${at}`, password);
    body.append('file', files.get(row));
  });
  asked.open('POST', form.action);
  asked.setRequestHeader('Accept', 'application/json');
  asked.responseType = 'json';
  asked.upload.addEventListener('progress', event => {
    bar.value = event.loaded / event.total;
    $('#progress').textContent = event.loaded < event.total ? filled(words.sending, { part: Math.round(100 * bar.value) }) : words.looking;
  });
  asked.addEventListener('loadend', () => {
    if (asked.status === 200 && asked.response?.to) return location.assign(asked.response.to);
    sending = false;
    going.hidden = true;
    $('.main', form).removeAttribute('aria-disabled');
    told(asked.response);
  });
  sending = true;
  going.hidden = false;
  $('.main', form).setAttribute('aria-disabled', 'true');
  asked.send(body);
}

for (const plain of all('[data-plain]', form)) plain.hidden = true; // the way without script
for (const scripted of all('[data-scripted]', form)) scripted.hidden = false;
$('#refused')?.remove();
input.required = false;
drop.classList.add('scripted');
input.addEventListener('change', () => add(input.files));
drop.addEventListener('dragover', event => { if (event.dataTransfer.types.includes('Files')) { event.preventDefault(); drop.classList.add('over'); } });
drop.addEventListener('dragleave', () => drop.classList.remove('over'));
drop.addEventListener('drop', event => {
  drop.classList.remove('over');
  if (!event.dataTransfer.files.length) return;
  event.preventDefault();
  add(event.dataTransfer.files);
});
list.addEventListener('click', event => {
  const button = event.target.closest('button'), row = button?.closest('.file');
  if (!row) return;
  if ('drop' in button.dataset) {
    const next = row.nextElementSibling ?? row.previousElementSibling;
    row.remove();
    (next ? $('[data-drop]', next) : input).focus();
  } else {
    moved(row, 'up' in button.dataset ? -1 : 1);
    button.focus();
  }
  settled();
});
draggable(list, '.file', '#chosen', settled);
form.addEventListener('submit', event => {
  event.preventDefault();
  if (sending) return;
  trouble('');
  if (!rows().length) return trouble(words.none), input.focus();
  const large = rows().find(row => files.get(row).size > Number(words.mostBytes));
  if (large) return $('[data-drop]', large).focus();
  send();
});
