// Fields on their pages: each a button that says what it is and where.
import { $, all, filled, made } from './page.js';
import { MM, leafOf, papers } from './view.js';

export const words = $('#words').dataset;
export const people = all('.people [data-key]').map(node => ({ node, ...node.dataset }));
export const personOf = key => people.find(person => person.key === key);
const kinds = new Map(all('.kinds [data-kind]').map(node => [node.dataset.kind, node]));
export const nameOf = kind => kinds.get(kind).dataset.name;
export const iconOf = kind => $('.icon', kinds.get(kind)).cloneNode(true);
export const isSmall = kind => kind === 'checkbox' || kind === 'radio';
export const titleOf = field => `${field.label || nameOf(field.type)}, ${filled(words.page, { page: leafOf(field).index + 1 })}`;

const shown = new Map(); // key → { node, field }
export const nodeOf = key => shown.get(key)?.node;
export const keyOf = target => target.closest?.('.box[data-key]')?.dataset.key;

export function put(node, field) {
  for (const name of 'xywh') node.style.setProperty(`--${name}`, field[name]);
}
// In the order in which one reads, by which Tab goes too. What had the focus has it afterwards.
function place(node, field) {
  const page = leafOf(field).node, focused = document.activeElement === node;
  const next = [...page.children].find(other => {
    const { x, y } = other === node ? field : shown.get(other.dataset.key)?.field ?? field;
    return y > field.y || (y === field.y && x > field.x);
  }) ?? null;
  if (node.parentNode === page && node.nextElementSibling === next) return;
  page.insertBefore(node, next);
  if (focused) node.focus({ preventScroll: true });
}
export function said(field) {
  const leaf = leafOf(field), { type, label } = field;
  return filled(words.box, {
    kind: nameOf(type) + (label ? ` “${label}”` : ''), who: personOf(field.who)?.name ?? words.nobody, page: leaf.index + 1,
    left: Math.round(field.x * leaf.width * MM), top: Math.round(field.y * leaf.height * MM),
  });
}
function dress(node, field) {
  const small = isSmall(field.type) && !field.options?.length;
  node.dataset.who = personOf(field.who)?.who ?? '';
  node.classList.toggle('small-box', small);
  node.setAttribute('aria-label', said(field));
  const text = made('span', { dir: 'auto' }, (field.label || nameOf(field.type)) + (field.required ? '' : ` ${words.optional}`));
  node.replaceChildren(iconOf(field.type), ...(small ? [] : [text]));
  put(node, field);
}

// Only what is another one by now is touched.
export function draw(fields, chosen) {
  const left = new Set(shown.keys());
  for (const field of fields) {
    const { key } = field, one = shown.get(key) ?? { node: made('button', { type: 'button', class: 'box', 'data-key': key }) };
    left.delete(key);
    shown.set(key, one);
    if (one.field !== field) {
      dress(one.node, one.field = field);
      place(one.node, field);
    }
    if (one.chosen !== chosen.has(key)) one.node.setAttribute('aria-pressed', one.chosen = chosen.has(key));
  }
  for (const key of left) {
    const { node } = shown.get(key), focused = document.activeElement === node;
    node.remove();
    shown.delete(key);
    if (focused) papers.focus({ preventScroll: true });
  }
}
// After a drag: back to where the field is.
export function restore(key) {
  const { node, field } = shown.get(key);
  node.style.translate = '';
  put(node, field);
  place(node, field);
}
