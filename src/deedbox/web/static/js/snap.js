// Edges hold on to those of other fields and of lines of text; a line shows it.
import { made } from './page.js';
import { leafOf, leaves, papers } from './view.js';

const NEAR = 6, FAVOUR = 1; // pixels; by which a field is preferred to a line of text
const lines = new Map(); // page → its lines, as left, top, right and bottom

// The lines of a page are asked for once it is seen.
const seen = new IntersectionObserver(entries => {
  for (const { isIntersecting, target } of entries) if (isIntersecting) {
    const leaf = leaves.find(one => one.node === target);
    seen.unobserve(target);
    fetch(`${papers.dataset.lines}/${leaf.fileId}/${leaf.page}`).then(answer => answer.json())
      .then(found => lines.set(leaf, found)).catch(() => seen.observe(target));
  }
}, { root: papers });
for (const leaf of leaves) seen.observe(leaf.node);

// What a page offers to hold on to, in pixels from its corner; the fields in `moving` are left out.
export function edges({ leaf, width, height }, fields, moving) {
  const found = { x: [], y: [] };
  const offer = (left, top, right, bottom, favour) => {
    found.x.push([left * width, favour], [right * width, favour]);
    found.y.push([top * height, favour], [bottom * height, favour]);
  };
  for (const field of fields) {
    if (!moving.has(field.key) && leafOf(field) === leaf) offer(field.x, field.y, field.x + field.w, field.y + field.h, FAVOUR);
  }
  for (const line of lines.get(leaf) ?? []) offer(...line, 0);
  return found;
}
// How far one of these edges is from the nearest there is, and where that lies; undefined if none is near.
function nearest(own, others) {
  let best;
  for (const [at, favour] of others) for (const edge of own) {
    const gap = at - edge, far = Math.abs(gap);
    if (far < NEAR && !(best?.far <= far - favour)) best = { gap, at, far: far - favour };
  }
  return best;
}

const guides = { x: made('i', { class: 'guide across' }), y: made('i', { class: 'guide' }) };
export function forget() {
  for (const guide of Object.values(guides)) guide.remove();
}
// How far the box { x, y, w, h }, in pixels of its page, is from what is near; of one that is sized, its far edges.
// With Alt nothing holds.
export function held({ altKey }, page, { x, y, w, h }, offered, sizing) {
  const ends = { x: sizing ? [x + w] : [x, x + w], y: sizing ? [y + h] : [y, y + h] }, by = { x: 0, y: 0 };
  for (const way of ['x', 'y']) {
    const hit = altKey ? null : nearest(ends[way], offered[way]), guide = guides[way];
    if (!hit) {
      guide.remove();
      continue;
    }
    by[way] = hit.gap;
    if (guide.parentNode !== page.leaf.node) page.leaf.node.append(guide);
    guide.style.translate = way === 'x' ? `${hit.at}px 0` : `0 ${hit.at}px`;
  }
  return by;
}
