// Edges hold on to those of other fields and of lines of text; a line shows it.
import { made } from './page.js';
import { leafOf, leaves, papers } from './view.js';

const NEAR = 6, FAVOUR = 1; // pixels; by which a field is preferred to a line of text
const lines = new Map(); // page → its lines, as left, top, right and bottom

// The lines of a page are asked for once somebody is about to need them.
export function wanted(leaf) {
  if (lines.has(leaf)) return;
  lines.set(leaf, []);
  fetch(`${papers.dataset.lines}/${encodeURIComponent(leaf.fileId)}/${leaf.page}`)
    .then(answer => (answer.ok ? answer.json() : []))
    .then(found => lines.set(leaf, found), () => lines.delete(leaf));
}
const seen = new IntersectionObserver(entries => {
  for (const { isIntersecting, target } of entries) if (isIntersecting) {
    seen.unobserve(target);
    wanted(leaves.find(leaf => leaf.node === target));
  }
}, { root: papers });
for (const leaf of leaves) seen.observe(leaf.node);

// What a page offers to hold on to, in pixels from its corner; the fields in `moving` are left out.
export function edges(box, fields, moving) {
  const { leaf, width, height } = box, found = { x: [], y: [] };
  for (const field of fields) {
    if (moving.has(field.key) || leafOf(field) !== leaf) continue;
    found.x.push([field.x * width, FAVOUR], [(field.x + field.w) * width, FAVOUR]);
    found.y.push([field.y * height, FAVOUR], [(field.y + field.h) * height, FAVOUR]);
  }
  for (const [left, top, right, bottom] of lines.get(leaf) ?? []) {
    found.x.push([left * width, 0], [right * width, 0]);
    found.y.push([top * height, 0], [bottom * height, 0]);
  }
  return found;
}
// How far one of these edges is from the nearest there is, and where that lies; null if none is near.
function nearest(own, others) {
  let best = null;
  for (const [at, favour] of others) for (const edge of own) {
    const gap = at - edge, far = Math.abs(gap) - favour;
    if (Math.abs(gap) < NEAR && (!best || far < best.far)) best = { gap, at, far };
  }
  return best;
}

const guides = { x: made('i', { class: 'guide across', hidden: '' }), y: made('i', { class: 'guide', hidden: '' }) };
export function forget() {
  for (const guide of Object.values(guides)) guide.remove();
}
// The box { x, y, w, h } in pixels of its page, moved to what is near; `sizing` moves its far edges alone.
export function held(box, { x, y, w, h }, offered, sizing = false) {
  const ends = { x: sizing ? [x + w] : [x, x + w], y: sizing ? [y + h] : [y, y + h] }, by = { x: 0, y: 0 };
  for (const way of ['x', 'y']) {
    const hit = nearest(ends[way], offered[way]), guide = guides[way];
    by[way] = hit?.gap ?? 0;
    guide.hidden = !hit;
    if (!hit) continue;
    if (guide.parentNode !== box.leaf.node) box.leaf.node.append(guide);
    guide.style.translate = way === 'x' ? `${hit.at}px 0` : `0 ${hit.at}px`;
  }
  return by;
}
