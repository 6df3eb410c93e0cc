// What can be done with fields: each makes new ones of those there are, and changes none.
import { memory } from './page.js';
import { MM, leafOf, leaves } from './view.js';
import { isSmall, people, personOf } from './boxes.js';

// Width and height in millimetres of a new one.
export const SIZES = {
  signature: [60, 18], initials: [20, 10], date: [36, 7], name: [50, 7], email: [56, 7], text: [50, 7], number: [28, 7],
  checkbox: [5, 5], select: [46, 7.5], radio: [5, 5], attachment: [50, 9],
};
const LEAST = 3; // millimetres
const COPIED = 'deedbox-fields', BELOW = 3, ASIDE = 5; // millimetres
const within = (value, most) => Math.min(Math.max(value, 0), Math.max(0, most));

export const keptIn = field => {
  const leaf = leafOf(field), least = LEAST / MM;
  const w = Math.min(1, Math.max(field.w, least / leaf.width)), h = Math.min(1, Math.max(field.h, least / leaf.height));
  return { ...field, w, h, x: within(field.x, 1 - w), y: within(field.y, 1 - h) };
};
function freeKeys(fields) {
  let last = Math.max(0, ...fields.map(field => +/^f(\d+)$/.exec(field.key)?.[1] || 0));
  return () => `f${++last}`;
}
export const changed = (fields, keys, change) => fields.map(field => (keys.has(field.key) ? keptIn({ ...field, ...change(field) }) : field));

// A new field with its middle at this point of a page.
export function placed(fields, kind, who, { leaf, x, y }) {
  const [wide, high] = SIZES[kind], w = wide / MM / leaf.width, h = high / MM / leaf.height;
  const field = keptIn({
    key: freeKeys(fields)(), type: kind, file: leaf.file, page: leaf.page, x: x - w / 2, y: y - h / 2, w, h, who,
    label: null, required: !isSmall(kind) && kind !== 'attachment', options: [], default: null, read_only: false,
    max_length: null, pattern: null, font_size: null, group: kind === 'radio' ? groupOf(fields, who) : null, show_if: null,
  });
  return [[...fields, field], field.key];
}
// A new radio button joins the group that was made last.
const groupOf = (fields, who) => fields.findLast(field => field.type === 'radio' && field.who === who)?.group ?? '1';

export function moved(fields, keys, dx, dy) {
  return changed(fields, keys, field => ({ x: field.x + dx / MM / leafOf(field).width, y: field.y + dy / MM / leafOf(field).height }));
}
export function sized(fields, keys, dw, dh) {
  return changed(fields, keys, field => ({ w: field.w + dw / MM / leafOf(field).width, h: field.h + dh / MM / leafOf(field).height }));
}
// To the left or upper edge, or the size, of the one that was chosen first.
export function aligned(fields, keys, how) {
  const first = fields.find(field => field.key === [...keys][0]), own = leafOf(first);
  return changed(fields, keys, field => {
    const leaf = leafOf(field), wide = own.width / leaf.width, high = own.height / leaf.height;
    if (how === 'left') return { x: first.x * wide };
    if (how === 'top') return { y: first.y * high };
    return { w: first.w * wide, h: first.h * high };
  });
}

// Copies with keys of their own; a condition among them leads from copy to copy, and of radio buttons each needs its label.
function twins(fields, models) {
  const next = freeKeys(fields), keys = new Map(models.map(model => [model.key, next()]));
  const made = models.map(model => keptIn({
    ...model, key: keys.get(model.key), label: model.type === 'radio' ? null : model.label,
    show_if: model.show_if && { ...model.show_if, field: keys.get(model.show_if.field) ?? model.show_if.field },
  }));
  return [[...fields, ...made], new Set(made.map(field => field.key))];
}
export function doubled(fields, keys) {
  const models = fields.filter(field => keys.has(field.key));
  const down = Math.max(...models.map(one => one.y + one.h)) - Math.min(...models.map(one => one.y));
  return twins(fields, models.map(one => ({ ...one, y: one.y + down + BELOW / MM / leafOf(one).height })));
}
export function onAllPages(fields, keys) {
  const models = fields.filter(field => keys.has(field.key)).flatMap(model => {
    const own = leafOf(model);
    return leaves.filter(leaf => leaf !== own).map(leaf => onto(leaf, own, { ...model, key: `${model.key} ${leaf.index}` }));
  });
  return twins(fields, models)[0];
}
// The same field on another page, as large and as far from the corner as before.
const onto = (leaf, own, field) => ({
  ...field, file: leaf.file, page: leaf.page, x: field.x * own.width / leaf.width, w: field.w * own.width / leaf.width,
  y: field.y * own.height / leaf.height, h: field.h * own.height / leaf.height,
});

// Copied fields stay with this tab, also where it goes on to another document: people are known by name there.
export function copy(fields, keys) {
  const models = fields.filter(field => keys.has(field.key)), first = Math.min(...models.map(field => leafOf(field).index));
  const items = models.map(field => {
    const { index, width, height } = leafOf(field);
    return { field, after: index - first, width, height, name: personOf(field.who)?.name };
  });
  memory.setItem(COPIED, JSON.stringify(items));
  return items.length;
}
export function pasted(fields, who, leaf) {
  let items;
  try {
    items = JSON.parse(memory.getItem(COPIED)) ?? [];
  } catch {
    items = [];
  }
  const known = new Set(items.map(item => item.field.key));
  const models = items.map(({ field, after, name, ...own }) => {
    const target = leaves[Math.min(leaf.index + after, leaves.length - 1)];
    const owner = people.find(person => person.key === field.who && person.name === name) ?? people.find(person => person.name === name);
    const condition = known.has(field.show_if?.field) || fields.some(other => other.key === field.show_if?.field) ? field.show_if : null;
    return onto(target, own, { ...field, who: owner?.key ?? who, show_if: condition });
  });
  // Not quite over what lies there already.
  while (models.some(model => fields.some(field => ['type', 'file', 'page'].every(name => field[name] === model[name])
      && Math.abs(field.x - model.x) < .002 && Math.abs(field.y - model.y) < .002)) && models.every(model => model.y + model.h < 1)) {
    for (const model of models) {
      model.x += ASIDE / MM / leafOf(model).width;
      model.y += ASIDE / MM / leafOf(model).height;
    }
  }
  return twins(fields, models);
}
