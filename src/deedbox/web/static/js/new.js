// Files for a new document or packet: dropped or chosen, put in order, sent with their progress; what is refused stays listed.
import { $, all, filled } from './page.js';
import { dropped, ordered, refuse, rowOf, sent } from './chosen.js';

const form = $('#new'), input = $('#file'), title = $('#title'), drop = $('#drop');
const going = $('#going'), bar = $('progress', going), words = form.dataset;
const chosen = ordered($('#chosen'), { row, changed: settled, input });
let guessed = '', sending = false;

function trouble(text) {
  const note = $('#trouble');
  $('span', note).textContent = text;
  note.hidden = !text;
  if (text) note.scrollIntoView({ block: 'nearest' });
}

function settled() {
  $('#together').hidden = chosen.rows().length < 2 && form.elements.kind.value === 'document'; // of one file there is nothing to ask
  if (title.value !== guessed) return;
  const name = chosen.files()[0]?.name ?? '';
  title.value = guessed = name.replace(/\.\w+$/, '').replace(/[\s_]+/g, ' ').trim().slice(0, title.maxLength);
}

function row(file) {
  const row = rowOf($('template[data-file]', form), file), box = $('.password input', row);
  box.id = `password-${Math.random().toString(36).slice(2)}`;
  $('.password label', row).htmlFor = box.id;
  if (file.size > Number(words.mostBytes)) refuse(row, words.tooLarge);
  return row;
}

function add(files) {
  const room = Number(words.mostFiles) - chosen.rows().length;
  trouble(files.length > room ? words.tooMany : '');
  chosen.add(files.slice(0, room));
  input.value = '';
  $('#said').textContent = filled(words.added, { files: chosen.rows().length });
}

function told(answer) {
  const said = answer ?? {}, rows = chosen.rows();
  for (const row of rows) refuse(row, '');
  const refused = Object.entries(said.files ?? {}).map(([at, { reason, code }]) => {
    refuse(rows[at], reason);
    if (code === 'locked') $('.password', rows[at]).hidden = false;
    return rows[at];
  });
  if (refused.length) {
    const box = $('.password:not([hidden]) input', refused[0]);
    (box ?? $('[data-out]', refused[0])).focus();
  } else trouble(Object.values(said.wrong ?? {})[0] || said.error || words.lost);
}

async function send() {
  const body = new FormData();
  for (const name of ['once', 'kind', 'title', 'language']) body.append(name, form.elements[name].value);
  chosen.rows().forEach((row, at) => {
    const password = $('.password input', row).value;
    if (password) body.append(`unlock.${at}`, password);
    body.append('file', chosen.file(row));
  });
  sending = true;
  going.hidden = false;
  $('.main', form).setAttribute('aria-disabled', 'true');
  const { taken, answer } = await sent(form.action, body, part => {
    bar.value = part;
    $('#progress').textContent = part < 1 ? filled(words.sending, { part: Math.round(100 * part) }) : words.looking;
  });
  if (taken && answer?.to) return location.assign(answer.to);
  sending = false;
  going.hidden = true;
  $('.main', form).removeAttribute('aria-disabled');
  told(answer);
}

for (const plain of all('[data-plain]', form)) plain.hidden = true; // the way without script
for (const scripted of all('[data-scripted]', form)) scripted.hidden = false;
$('#refused')?.remove();
input.required = false;
drop.classList.add('scripted');
input.addEventListener('change', () => add([...input.files]));
if (input.files.length) add([...input.files]); // chosen before this script was there
dropped(drop, add);
settled();
form.addEventListener('submit', event => {
  event.preventDefault();
  if (sending) return;
  trouble('');
  if (!chosen.rows().length) return trouble(words.none), input.focus();
  const large = chosen.rows().find(row => chosen.file(row).size > Number(words.mostBytes));
  if (large) return $('[data-out]', large).focus();
  send();
});
