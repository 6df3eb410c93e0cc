// Beside the pages: what can be said of the chosen fields, and what is still missing before all can be sent.
import { $, all, filled, made } from './page.js';
import { MM, leafOf } from './view.js';
import { iconOf, nameOf, people, personOf, words } from './boxes.js';

const form = $('#field'), inputs = form.elements;
const PLACES = { x: 'width', y: 'height', w: 'width', h: 'height' };
const TYPES = { date: 'date', email: 'email' };
const NO_VALUE = ['signature', 'initials', 'attachment']; // no condition can name what stands in them
const list = new Intl.ListFormat(document.documentElement.lang);

const decides = (field, other) => other.key !== field.key && !NO_VALUE.includes(other.type);
// What a condition can ask for: of radio buttons, the group.
function deciders(field, fields) {
  const found = new Map();
  for (const other of fields) {
    if (!decides(field, other)) continue;
    if (other.type === 'radio') {
      if (other.group && !(field.type === 'radio' && field.group === other.group)) found.set(other.group, `${nameOf('radio')}: ${other.group}`);
    } else found.set(other.key, `${other.label || nameOf(other.type)}, ${filled(words.page, { page: leafOf(other).index + 1 })}`);
  }
  return [...found];
}
// The values there are of what decides; none where anything can be written.
function answers({ show_if: condition }, fields) {
  const grouped = fields.filter(other => other.type === 'radio' && other.group === condition?.field);
  if (grouped.length) return grouped.filter(other => other.label).map(other => [other.label, other.label]);
  const other = fields.find(one => one.key === condition?.field);
  if (other?.type === 'checkbox') return [['true', words.ticked], ['false', words.unticked]];
  return other?.type === 'select' ? other.options.map(option => [option, option]) : [];
}
function offer(select, options, value) {
  select.replaceChildren(...options.map(([key, text]) => new Option(text, key, false, key === value)));
  select.value = value;
}
// Nobody is interrupted while writing.
const set = (input, value) => { if (input !== document.activeElement) input.value = value ?? ''; };

function fillOne(field, fields) {
  const leaf = leafOf(field);
  set(inputs.label, field.label);
  set(inputs.options, field.options.join('\n'));
  inputs.default.type = TYPES[field.type] ?? 'text';
  set(inputs.default, field.default);
  offer(inputs.choice, [['', words.none], ...field.options.map(option => [option, option])], field.default ?? '');
  inputs.ticked.checked = field.default === 'true';
  inputs.read_only.checked = field.read_only;
  for (const name of ['max_length', 'pattern', 'font_size', 'group']) set(inputs[name], field[name]);
  for (const [name, side] of Object.entries(PLACES)) set(inputs[name], (field[name] * leaf[side] * MM).toFixed(1));
  const known = answers(field, fields), condition = field.show_if;
  offer(inputs.show_field, [['', words.always], ...deciders(field, fields)], condition?.field ?? '');
  offer(inputs.show_answer, known, condition?.equals ?? '');
  set(inputs.show_equals, condition?.equals);
  inputs.show_answer.closest('label').hidden = !condition || !known.length;
  inputs.show_equals.closest('label').hidden = !condition || known.length > 0;
}
export function fill(fields, chosen) {
  const fieldsChosen = fields.filter(field => chosen.has(field.key)), [field] = fieldsChosen, several = fieldsChosen.length > 1;
  form.hidden = !field;
  document.body.classList.toggle('chosen', Boolean(field));
  if (!field) return;
  const same = name => fieldsChosen.every(other => other[name] === field[name]);
  for (const part of all('[data-for]', form)) part.hidden = several || !part.dataset.for.split(' ').includes(field.type);
  for (const part of all('[data-one]', form)) part.hidden = several;
  $('#several').hidden = !several;
  const kind = same('type') ? [iconOf(field.type)] : [];
  $('#what').replaceChildren(...kind, several ? filled(words.several, { count: fieldsChosen.length }) : `${nameOf(field.type)}, ${filled(words.page, { page: leafOf(field).index + 1 })}`);
  const nobody = personOf(field.who) ? [] : [['', words.nobody]];
  offer(inputs.who, [...nobody, ...people.map(person => [person.key, person.name])], same('who') ? field.who : '');
  inputs.required.checked = fieldsChosen.every(other => other.required);
  inputs.required.indeterminate = !same('required');
  if (!several) fillOne(field, fields);
}

// What the change of an input makes of a field.
function change(field, name, input) {
  const { value, checked } = input, leaf = leafOf(field);
  if (name in PLACES) return { [name]: (+value || 0) / MM / leaf[PLACES[name]] };
  switch (name) {
    case 'required': case 'read_only': return { [name]: checked };
    case 'ticked': return { default: checked ? 'true' : null };
    case 'choice': return { default: value || null };
    case 'options': return { options: value.split('\n').map(option => option.trim()).filter(Boolean).slice(0, 100) };
    case 'max_length': case 'font_size': return { [name]: input.validity.valid && value ? +value : null };
    case 'show_field': return { show_if: value ? { field: value, equals: '' } : null };
    case 'show_answer': case 'show_equals': return { show_if: { field: field.show_if.field, equals: value } };
    default: return { [name]: value || null };
  }
}
// `changed` gets a function from field to change, and the token of what is being written.
export function listen(changed) {
  form.addEventListener('submit', event => event.preventDefault());
  form.addEventListener('input', ({ target }) => { if (target.name) changed(field => change(field, target.name, target), target.name); });
}
export const first = () => inputs.who;

// Who has nowhere to sign: neither a field of their own nor one of their group's.
function unsigned(fields) {
  const signed = new Set(fields.filter(field => field.type === 'signature' && !field.show_if).map(field => field.who));
  return people.filter(({ key, within, signs }) => signs && !signed.has(key) && !signed.has(within)).map(person => person.name);
}
const missing = field => (
  !personOf(field.who) ? words.lacksPerson
    : field.type === 'select' && !field.options.length ? words.lacksOptions
      : field.type === 'radio' && !(field.group && field.label) ? words.lacksLabel
        : field.read_only && field.required && !field.default && ['text', 'number', 'select', 'checkbox'].includes(field.type) ? words.lacksDefault : '');
// `go` leads to a field at which something is missing.
export function ready(fields, go) {
  for (const { key, node } of people) {
    const count = fields.filter(field => field.who === key).length;
    $('.count', node).textContent = count || '';
  }
  const names = unsigned(fields), wrong = fields.filter(missing), open = names.length + wrong.length;
  const sentence = names.length ? filled(names.length > 1 ? words.noPlaces : words.noPlace, { names: list.format(names) }) : words.ready;
  $('#ready').classList.toggle('good', !open);
  $('#ready').hidden = !names.length && open > 0;
  $('#ready span').textContent = sentence;
  $('#wrong').replaceChildren(...wrong.slice(0, 20).map(field => made('li', {}, made('button', { type: 'button', class: 'link', onclick: () => go(field.key) },
    `${field.label || nameOf(field.type)}, ${filled(words.page, { page: leafOf(field).index + 1 })}: ${missing(field)}`))));
}
