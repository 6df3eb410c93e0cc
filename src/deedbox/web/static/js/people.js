// The people of a draft: rows and steps are added, moved and removed here; the form posts them all.
// What is typed and not posted is kept in this tab, for whoever goes back.
import { $, all, filled, made, memory } from './page.js';
import { draggable, moved } from './order.js';

const form = $('#people'), steps = $('#steps'), words = form.dataset;
const cards = () => [...steps.children];
const people = card => all('.person', card);
const nameOf = row => $('[name$=".name"]', row).value;
const isEmpty = row => !nameOf(row) && !$('[name$=".email"]', row).value;
const isSpare = row => isEmpty(row) && !$('[name$=".key"]', row).value; // whoever has a key may have fields
const kept = `people:${location.pathname}`;
const pattern = cards()[0].cloneNode(true); // what a new step is made of

function renamed(element, step, at) {
  const place = name => name.replace(/^(step-|(?:up|down|person|earlier|later|drop)\.|parties\.)\d+/, `$1${step}`)
    .replace(/(\.signers\.|^(?:earlier|later|drop)\.\d+\.)\d+/, `$1${at}`);
  for (const name of ['id', 'name', 'for', 'value', 'aria-labelledby', 'aria-describedby']) {
    for (const one of [element, ...all(`[${name}]`, element)]) {
      const said = one.getAttribute(name);
      if (said && (name !== 'value' || one.name === 'act')) one.setAttribute(name, said.split(' ').map(place).join(' '));
    }
  }
}

// Names and words follow the order: what is posted is what is seen.
function settled() {
  cards().forEach((card, step) => {
    renamed(card, step, 0);
    people(card).forEach((row, at) => {
      renamed(row, step, at);
      for (const act of ['earlier', 'later', 'drop']) $(`button[data-${act}] .unseen`, row).textContent = filled(words[act], { name: nameOf(row) || at + 1 });
      $('[data-earlier]', row).disabled = step === 0 && people(card).length < 2;
      $('[data-later]', row).disabled = step === cards().length - 1 && people(card).length < 2;
    });
    $('[data-number]', card).textContent = filled(words.step, { step: step + 1 });
    $('[data-up]', card).disabled = step === 0;
    $('[data-down]', card).disabled = step === cards().length - 1;
    $('.together', card).hidden = step === 0;
    $('.group', card).classList.toggle('lone', people(card).length < 2);
    $('.quorum', card).hidden = $('[name$=".rule"]', card).value !== 'quorum';
  });
}

// A step as it is typed: what it says itself, and of each of its people.
const typed = part => all('input, select', part).filter(box => !box.closest('.person') || part.matches('.person'));
const said = part => typed(part).map(box => box.type === 'checkbox' ? box.checked : box.value);
function keep() {
  const rows = cards().map(card => [said(card), people(card).map(said)]);
  memory.setItem(kept, JSON.stringify({ version: words.version, rows }));
}
function changed() {
  settled();
  keep();
}
function say(part, values) {
  typed(part).forEach((box, at) => {
    if (box.type === 'checkbox') box.checked = values[at];
    else box.value = values[at];
    if (box.value !== values[at] && box.matches('select')) box.add(new Option(values[at], values[at], true, true));
  });
}
// What was kept of the people that are on the server still; what came back refused stands here already.
function remembered() {
  const before = JSON.parse(memory.getItem(kept) ?? 'null');
  if (before?.version !== words.version) memory.removeItem(kept);
  else if (!('refused' in words)) {
    steps.replaceChildren();
    for (const [own, signers] of before.rows) {
      const card = addStep(), name = own[3];
      say(card, own);
      if (name) $('h2', card).append(' ', made('bdi', { class: 'small' }, name));
      for (const values of signers) {
        const row = newRow();
        $('.persons', card).append(row);
        say(row, values);
      }
    }
  }
}

function newRow() {
  return $('#person-row').content.firstElementChild.cloneNode(true);
}

function addPerson(card, name = '', email = '') {
  const empty = people(card).find(isEmpty);
  const row = name && empty ? empty : newRow();
  if (row !== empty) $('.persons', card).append(row);
  $('[name$=".name"]', row).value = name;
  $('[name$=".email"]', row).value = email;
  changed();
  $('[name$=".name"]', row).focus();
}

function addStep() {
  const card = pattern.cloneNode(true);
  for (const box of all('input:not([type=checkbox])', card)) box.value = '';
  for (const box of all('[type=checkbox]', card)) box.checked = false;
  for (const wrong of all('.wrong, h2 .small', card)) wrong.remove();
  for (const box of all('[aria-invalid]', card)) box.removeAttribute('aria-invalid');
  $('.persons', card).replaceChildren();
  $('[name$=".rule"]', card).value = 'all';
  steps.append(card);
  return card;
}

function dropped(row) {
  const card = row.closest('.step-card'), next = row.nextElementSibling ?? row.previousElementSibling;
  row.remove();
  if (!people(card).length && cards().length > 1) card.remove();
  else if (!people(card).length) $('.persons', card).append(newRow());
  changed();
  $('[name$=".name"]', next ?? people(cards().at(-1))[0]).focus();
}

// One place further: within their step, into the next, or behind the last into one of their own.
function sent(row, way) {
  const card = row.closest('.step-card'), beside = way < 0 ? card.previousElementSibling : card.nextElementSibling;
  if (moved(row, way)) return;
  const next = beside ?? addStep();
  if (!beside && way < 0) card.before(next);
  for (const spare of people(next).filter(isSpare)) spare.remove();
  if (way < 0) $('.persons', next).append(row); else $('.persons', next).prepend(row);
  if (!people(card).length) card.remove();
}

form.addEventListener('click', event => {
  const button = event.target.closest('button[name=act]');
  if (!button) return;
  event.preventDefault();
  const data = button.dataset, card = button.closest('.step-card');
  if ('drop' in data) return dropped(button.closest('.person'));
  if ('earlier' in data || 'later' in data) {
    const row = button.closest('.person');
    sent(row, 'earlier' in data ? -1 : 1);
    changed();
    (button.disabled ? $('[data-earlier]:enabled, [data-later]:enabled, [data-drop]', row) : button).focus();
    $('#said').textContent = filled(words.movedOne, { name: nameOf(row), step: cards().indexOf(row.closest('.step-card')) + 1 });
    return;
  }
  if ('person' in data) return addPerson(card);
  if ('stepAdds' in data) return addPerson(addStep());
  if ('me' in data) {
    const last = cards().at(-1), free = people(last).every(row => !$('[name$=".email"]', row).value);
    return addPerson(free ? last : addStep(), words.meName, words.meEmail);
  }
  if (!moved(card, 'up' in data ? -1 : 1)) return;
  changed();
  (button.disabled ? $('[data-up]:enabled, [data-down]:enabled', card) : button).focus();
  $('#said').textContent = filled(words.moved, { step: cards().indexOf(card) + 1 });
});
form.addEventListener('change', changed);
// Choosing a suggestion fills in the other half of a known person; typing does not. Chromium reports a choice without an
// input type, Firefox as a replacement. A name that several people have fills in nothing.
form.addEventListener('input', event => {
  const box = event.target, row = box.closest('.person'), name = row && $('[name$=".name"]', row), email = row && $('[name$=".email"]', row);
  delete box.dataset.suggested;
  if ((box === name || box === email) && (event.inputType ?? 'insertReplacementText') === 'insertReplacementText') {
    const half = option => box === name ? [option.textContent, option.value] : [option.value, option.textContent];
    const found = all('#known-emails option').map(half).filter(([known]) => known === box.value), other = box === name ? email : name;
    if (found.length === 1 && (!other.value || 'suggested' in other.dataset)) {
      other.value = found[0][1];
      other.dataset.suggested = '';
    }
  }
  keep();
});
// The half that was filled in is selected when it is pressed: typing replaces it.
form.addEventListener('click', event => {
  if (!('suggested' in event.target.dataset)) return;
  event.target.select();
  delete event.target.dataset.suggested;
});
draggable(steps, '.person', '.persons', () => {
  for (const card of cards()) if (!people(card).length && cards().length > 1) card.remove();
  changed();
});
draggable(steps, '.step-card', '#steps', changed);
remembered();
settled();
