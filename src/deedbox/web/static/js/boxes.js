// Fields on their pages: each a button that says what it is and where.
import { $, all, filled, made } from './page.js';
import { MM, leafOf, papers } from './view.js';

export const words = $('#words').dataset;
export const people = all('.people [data-key]').map(node => ({ node, ...node.dataset }));
export const personOf = key => people.find(person => person.key === key);
const kinds = new Map(all('.kinds [data-kind]').map(node => [node.dataset.kind, node]));
export const nameOf = kind => kinds.get(kind)?.dataset.name ?? kind;
export const iconOf = kind => $('.icon', kinds.get(kind)).cloneNode(true);
export const isSmall = kind => kind === 'checkbox' || kind === 'radio';

const shown = new Map(); // key → { node, field }
export const nodeOf = key => shown.get(key)?.node;
export const keyOf = target => target.closest?.('.box[data-key]')?.dataset.key;

export function put(node, field) {
  for (const name of ['x', 'y', 'w', 'h']) node.style.setProperty(`--${name}`, field[name]);
}
// In the order in which one reads, by which Tab goes too. What had the focus has it afterwards.
function place(node, field) {
  const page = leafOf(field)?.node, focused = document.activeElement === node;
  if (!page) return node.remove();
  const others = [...page.children].filter(other => other !== node && other.dataset.key);
  const next = others.find(other => {
    const { x, y } = shown.get(other.dataset.key)?.field ?? field;
    return y > field.y || (y === field.y && x > field.x);
  });
  if (node.parentNode === page && node.nextElementSibling === (next ?? null)) return;
  page.insertBefore(node, next ?? null);
  if (focused) node.focus({ preventScroll: true });
}
export function said(field) {
  const leaf = leafOf(field), person = personOf(field.who);
  return filled(words.box, {
    kind: nameOf(field.type) + (field.label ? ` “${field.label}”` : ''), who: person?.name ?? words.nobody, page: leaf ? leaf.index + 1 : field.page,
    left: Math.round(field.x * (leaf?.width ?? 0) * MM), top: Math.round(field.y * (leaf?.height ?? 0) * MM),
  });
}
function dress(node, field) {
  node.dataset.who = personOf(field.who)?.who ?? '';
  node.classList.toggle('small-box', isSmall(field.type));
  node.setAttribute('aria-label', said(field));
  const text = made('span', { dir: 'auto' }, (field.label || nameOf(field.type)) + (field.required ? '' : ` ${words.optional}`));
  node.replaceChildren(iconOf(field.type), ...(isSmall(field.type) ? [] : [text]));
  put(node, field);
}

// Only what is another one by now is touched.
export function draw(fields, chosen) {
  const left = new Set(shown.keys());
  for (const field of fields) {
    left.delete(field.key);
    let one = shown.get(field.key);
    if (!one) {
      one = { node: made('button', { type: 'button', class: 'box', 'data-key': field.key }), field: null };
      shown.set(field.key, one);
    }
    if (one.field !== field) {
      dress(one.node, field);
      one.field = field;
      place(one.node, field);
    }
    const pressed = String(chosen.has(field.key));
    if (one.node.getAttribute('aria-pressed') !== pressed) one.node.setAttribute('aria-pressed', pressed);
  }
  for (const key of left) {
    const { node } = shown.get(key), focused = document.activeElement === node;
    node.remove();
    shown.delete(key);
    if (focused) papers.focus({ preventScroll: true });
  }
}
// After a drag that came to nothing: back to where the field is.
export function restore(key) {
  const { node, field } = shown.get(key);
  node.style.translate = '';
  put(node, field);
  place(node, field);
}
