// Beside the pages: what can be said of the chosen fields, and what is still missing before all can be sent.
import { $, all, filled, made } from './page.js';
import { MM, leafOf } from './view.js';
import { iconOf, nameOf, people, personOf, titleOf, words } from './boxes.js';

const form = $('#field'), inputs = form.elements;
const SIDES = { x: 'width', y: 'height', w: 'width', h: 'height' };
const NO_VALUE = ['signature', 'initials', 'date_signed', 'attachment']; // no condition can name what stands in them
const FIXED = ['text', 'number', 'date', 'select', 'checkbox']; // which nothing but their sender fills in, if the signer cannot
const list = new Intl.ListFormat(document.documentElement.lang);

// What a condition can ask for, in the same document: of radio buttons, the group.
function deciders(field, fields) {
  const found = new Map();
  for (const other of fields) {
    if (other.key === field.key || NO_VALUE.includes(other.type) || leafOf(other).within !== leafOf(field).within) continue;
    if (other.type !== 'radio' || other.options.length) found.set(other.key, titleOf(other));
    else if (other.group !== field.group) found.set(other.group, `${nameOf('radio')}: ${other.group}`);
  }
  return [...found];
}
let offerDeciders = null; // all of them only once they are looked at: there may be many
inputs.show_field.addEventListener('focus', () => offerDeciders());
// The values there are of what decides; none where anything can be written.
function answers(decides, fields) {
  const grouped = fields.filter(other => other.type === 'radio' && other.group === decides && other.label).map(other => other.label);
  const other = fields.find(one => one.key === decides), same = grouped.length ? grouped : other?.options ?? [];
  return other?.type === 'checkbox' ? [['true', words.ticked], ['false', words.unticked]] : same.map(value => [value, value]);
}
function offer(select, value, ...options) {
  select.replaceChildren(...options.map(([key, text]) => new Option(text, key)));
  select.value = value;
}
// Nobody is interrupted while writing.
const set = (input, value) => { if (input !== document.activeElement) input.value = value ?? ''; };

function fillOne(field, fields) {
  const leaf = leafOf(field), { show_if: condition, options } = field, known = answers(condition?.field, fields);
  for (const name of ['label', 'max_length', 'pattern', 'hint', 'font_size', 'group', 'default']) set(inputs[name], field[name]);
  set(inputs.options, options.join('\n'));
  offer(inputs.choice, field.default ?? '', ['', words.none], ...options.map(option => [option, option]));
  inputs.ticked.checked = field.default === 'true';
  inputs.read_only.checked = field.read_only;
  for (const name of 'xywh') set(inputs[name], (field[name] * leaf[SIDES[name]] * MM).toFixed(1));
  offerDeciders = others => offer(inputs.show_field, condition?.field ?? '', ['', words.always], ...deciders(field, others ?? fields));
  if (inputs.show_field !== document.activeElement) offerDeciders(fields.filter(({ key, group }) => condition && [key, group].includes(condition.field)));
  offer(inputs.show_answer, condition?.equals ?? '', ...known);
  set(inputs.show_equals, condition?.equals);
  inputs.show_answer.parentNode.hidden = !condition || !known.length;
  inputs.show_equals.parentNode.hidden = !condition || known.length;
}
export function fill(fields, chosen) {
  const those = fields.filter(field => chosen.has(field.key)), [field] = those, several = those.length > 1;
  form.hidden = !field;
  document.body.classList.toggle('chosen', Boolean(field));
  if (!field) return;
  const same = name => those.every(other => other[name] === field[name]);
  const kind = field.type === 'radio' && field.options.length ? 'options' : field.type;
  for (const part of all('[data-for]', form)) part.hidden = several || !part.dataset.for.split(' ').includes(kind);
  for (const part of all('[data-one]', form)) part.hidden = several;
  $('#several').hidden = !several;
  inputs.default.type = field.type === 'date' ? 'date' : 'text';
  $('#what').replaceChildren(...(same('type') ? [iconOf(field.type)] : []), several ? filled(words.several, { count: those.length }) : titleOf({ ...field, label: '' }));
  offer(inputs.who, same('who') ? field.who : '', ...(personOf(field.who) ? [] : [['', words.nobody]]), ...people.map(person => [person.key, person.name]));
  inputs.required.checked = field.required;
  inputs.required.indeterminate = !same('required');
  if (!several) fillOne(field, fields);
}

// A radio field with options is no button of a group, and has room for a line for each option; without them it is a button again.
function asOptions(field, options) {
  if (!options.length) return { group: field.group || '1', default: null };
  const { width, height } = leafOf(field), [wide, high] = [50, 6 * options.length]; // millimetres
  return {
    group: null, w: Math.max(field.w, wide / MM / width), h: Math.max(field.h, high / MM / height),
    default: options.includes(field.default) ? field.default : null,
  };
}
// What an input makes of a field.
const CHANGES = {
  ticked: ({ checked }) => ({ default: checked ? 'true' : null }),
  choice: ({ value }) => ({ default: value }),
  options: ({ value }, field) => {
    const options = value.split('\n').map(option => option.trim()).filter(Boolean).slice(0, 100);
    return field.type === 'radio' ? { ...asOptions(field, options), options } : { options };
  },
  show_field: ({ value }) => ({ show_if: value ? { field: value, equals: '' } : null }),
  show_answer: ({ value }, field) => ({ show_if: { ...field.show_if, equals: value } }),
};
CHANGES.show_equals = CHANGES.show_answer;
function change(field, input) {
  const { name, type, value, checked, validity } = input;
  if (name in SIDES) return { [name]: value / MM / leafOf(field)[SIDES[name]] };
  if (name in CHANGES) return CHANGES[name](input, field);
  if (type === 'number') return { [name]: validity.valid && value ? +value : null };
  return { [name]: type === 'checkbox' ? checked : value || null };
}
// `changed` gets a function from field to change, and what is being written.
export function listen(changed) {
  form.addEventListener('submit', event => event.preventDefault());
  form.addEventListener('input', ({ target }) => changed(field => change(field, target), target.name));
}
export const first = () => inputs.who;

// Who has nowhere to sign: neither a field of their own nor one of their group's.
function unsigned(fields) {
  const signed = new Set(fields.filter(field => field.type === 'signature' && !field.show_if).map(field => field.who));
  return people.filter(({ key, within, signs }) => signs && !signed.has(key) && !signed.has(within)).map(person => person.name);
}
function missing({ who, type, options, group, label, read_only: fixed, required, default: given }) {
  if (!personOf(who)) return words.lacksPerson;
  if (type === 'select' && !options.length) return words.lacksOptions;
  if (type === 'radio' && !options.length && !(group && label)) return words.lacksLabel;
  return fixed && required && !given && FIXED.includes(type) ? words.lacksDefault : '';
}
// `go` leads to a field at which something is missing.
export function ready(fields, go) {
  for (const { key, node } of people) $('.count', node).textContent = fields.filter(field => field.who === key).length || '';
  const names = unsigned(fields), wrong = fields.filter(missing);
  $('#ready').classList.toggle('good', !names.length);
  $('#ready').hidden = !names.length && wrong.length;
  $('#ready span').textContent = filled([words.ready, words.noPlace][names.length] ?? words.noPlaces, { names: list.format(names) });
  $('#wrong').replaceChildren(...wrong.slice(0, 20).map(field => made('li', {},
    made('button', { type: 'button', class: 'link', onclick: () => go(field.key) }, `${titleOf(field)}: ${missing(field)}`))));
}
