// What can be done with fields: each makes new ones of those there are, and changes none.
import { $, memory } from './page.js';
import { MM, leafOf, leaves, within } from './view.js';
import { isSmall, people, personOf } from './boxes.js';

// Width and height in millimetres of a new one.
export const SIZES = {
  signature: [60, 18], initials: [20, 10], date_signed: [36, 7], date: [36, 7], name: [50, 7], email: [56, 7], text: [50, 7], number: [28, 7],
  checkbox: [5, 5], select: [46, 7.5], radio: [5, 5], attachment: [50, 9],
};
export const LEAST = Number($('#field').elements.w.min);
const COPIED = 'deedbox-fields', BELOW = 3, ASIDE = 5; // millimetres

export const keptIn = field => {
  const leaf = leafOf(field), w = within(field.w, LEAST / MM / leaf.width, 1), h = within(field.h, LEAST / MM / leaf.height, 1);
  return { ...field, w, h, x: within(field.x, 0, 1 - w), y: within(field.y, 0, 1 - h) };
};
export const changed = (fields, keys, change) => fields.map(field => (keys.has(field.key) ? keptIn({ ...field, ...change(field) }) : field));
function freeKeys(fields) {
  let last = Math.max(0, ...fields.map(field => +/^f(\d+)$/.exec(field.key)?.[1] || 0));
  return () => `f${++last}`;
}

// A new field with its middle at this point of a page; a radio button joins the group that was made last.
export function placed(fields, type, who, { leaf, x, y }) {
  const [wide, high] = SIZES[type], w = wide / MM / leaf.width, h = high / MM / leaf.height, key = freeKeys(fields)();
  const group = type === 'radio' ? fields.findLast(field => field.group && field.who === who)?.group ?? '1' : null;
  const required = !isSmall(type) && type !== 'attachment';
  return [[...fields, keptIn({ key, type, file: leaf.file, page: leaf.page, x: x - w / 2, y: y - h / 2, w, h, who, required, options: [], group })], key];
}
// By so many millimetres; `sized` by so much larger.
const grown = (x, y) => (fields, keys, right, down) => changed(fields, keys, field => {
  const { width, height } = leafOf(field);
  return { [x]: field[x] + right / MM / width, [y]: field[y] + down / MM / height };
});
export const moved = grown('x', 'y'), sized = grown('w', 'h');
// The same field on another page, as large and as far from the corner as before.
const onto = (leaf, own, field) => {
  const wide = own.width / leaf.width, high = own.height / leaf.height;
  return { ...field, file: leaf.file, page: leaf.page, x: field.x * wide, w: field.w * wide, y: field.y * high, h: field.h * high };
};
// To the left or upper edge, or the size, of the one that was chosen first.
export function aligned(fields, keys, names) {
  const first = fields.find(field => keys.values().next().value === field.key);
  return changed(fields, keys, field => {
    const model = onto(leafOf(field), leafOf(first), first);
    return Object.fromEntries([...names].map(name => [name, model[name]]));
  });
}

// A condition asks for what stands in the same document; without it, the field is always shown.
const conditioned = fields => field => {
  const { show_if: condition } = field, decides = other => [other.key, other.group].includes(condition.field);
  const known = !condition || fields.some(other => decides(other) && leafOf(other).within === leafOf(field).within);
  return known ? field : { ...field, show_if: null };
};
// Copies with keys of their own; a condition among them leads from copy to copy, and each radio button needs its own label.
function twins(fields, models) {
  const next = freeKeys(fields), keys = new Map(models.map(model => [model.key, next()]));
  const made = models.map(model => keptIn({
    ...model, key: keys.get(model.key), label: model.type === 'radio' && !model.options?.length ? null : model.label,
    show_if: model.show_if && { ...model.show_if, field: keys.get(model.show_if.field) ?? model.show_if.field },
  }));
  return [[...fields, ...made.map(conditioned([...fields, ...made]))], new Set(made.map(field => field.key))];
}
const those = (fields, keys) => fields.filter(field => keys.has(field.key));
export function doubled(fields, keys) {
  const models = those(fields, keys), down = Math.max(...models.map(one => one.y + one.h)) - Math.min(...models.map(one => one.y));
  return twins(fields, models.map(one => ({ ...one, y: one.y + down + BELOW / MM / leafOf(one).height })));
}
export const onAllPages = (fields, keys) => twins(fields, those(fields, keys).flatMap(model => leaves.filter(leaf => leaf !== leafOf(model))
  .map(leaf => onto(leaf, leafOf(model), { ...model, key: `${model.key} ${leaf.index}` }))))[0];

// Copied fields stay with this tab, also where it goes on to another document: people are known by name there.
export function copy(fields, keys) {
  const models = those(fields, keys), first = Math.min(...models.map(field => leafOf(field).index));
  memory.setItem(COPIED, JSON.stringify(models.map(field => {
    const { index, width, height } = leafOf(field);
    return { field, after: index - first, own: { width, height }, name: personOf(field.who)?.name };
  })));
}
const isOver = (one, other) => one.type === other.type && leafOf(one) === leafOf(other) && Math.hypot(one.x - other.x, one.y - other.y) < .003;
export function pasted(fields, who, leaf) {
  const items = JSON.parse(memory.getItem(COPIED)) ?? [], known = new Set([...items.map(item => item.field), ...fields].map(field => field.key));
  let models = items.map(({ field, after, own, name }) => {
    const owner = people.find(person => person.key === field.who) ?? people.find(person => person.name === name);
    const condition = known.has(field.show_if?.field) ? field.show_if : null;
    return onto(leaves[Math.min(leaf.index + after, leaves.length - 1)], own, { ...field, who: owner?.key ?? who, show_if: condition });
  });
  // Not quite over what lies there already.
  while (models.every(one => one.y + one.h < 1) && models.some(one => fields.some(field => isOver(field, one)))) {
    models = moved(models, new Set(models.map(one => one.key)), ASIDE, ASIDE);
  }
  return twins(fields, models);
}
