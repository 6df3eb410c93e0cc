// The pages in the middle of the editor: how large they are shown, and which of them lies where.
import { $, all } from './page.js';

export const MM = 25.4 / 72; // of a point, in which pages are measured
const LEAST = .5, MOST = 3, STEP = .25, WIDTH = 680 / 595; // of a page at 100 %: pixels to a point
const PICTURES = [480, 820, 1240, 1860, 2480];

export const papers = $('.papers');
export const leaves = all('.paper', papers).map((node, index) => {
  const { file, fileId, page, width, height } = node.dataset;
  node.style.setProperty('--width', width);
  node.style.setProperty('--height', height);
  return { node, index, file: +file, fileId, page: +page, width: +width, height: +height, picture: $('img', node), asked: 0 };
});
const byPlace = new Map(leaves.map(leaf => [`${leaf.file} ${leaf.page}`, leaf]));
const widest = Math.max(...leaves.map(leaf => leaf.width));
let zoom = 1, scale = WIDTH;

export const leafOf = field => byPlace.get(`${field.file} ${field.page}`);
export const scaleNow = () => scale;

// Keeps the point under (x, y) of the pages' own box where it is.
function show(wanted, x, y) {
  const room = papers.clientWidth - 2 * parseFloat(getComputedStyle(papers).paddingLeft);
  const next = Math.max(.1, Math.min(WIDTH, room / widest)) * wanted, grown = next / scale;
  const left = (papers.scrollLeft + x) * grown - x, top = (papers.scrollTop + y) * grown - y;
  [zoom, scale] = [wanted, next];
  papers.style.setProperty('--scale', scale);
  papers.scrollTo({ left, top, behavior: 'instant' });
  $('#percent').textContent = `${Math.round(zoom * 100)} %`;
  for (const button of all('[data-zoom]')) button.disabled = zoom === (button.dataset.zoom > 0 ? MOST : LEAST);
  for (const leaf of leaves) sharpen(leaf);
}
// A larger page asks for a larger picture, once it comes near.
function sharpen(leaf) {
  const wanted = leaf.width * scale * devicePixelRatio, width = PICTURES.find(one => one >= wanted) ?? PICTURES.at(-1);
  if (width <= leaf.asked) return;
  leaf.asked = width;
  leaf.picture.src = `${leaf.picture.dataset.path}?width=${width}`;
}
export function zoomTo(wanted, x = papers.clientWidth / 2, y = papers.clientHeight / 2) {
  const next = Math.min(MOST, Math.max(LEAST, wanted));
  if (next !== zoom) show(next, x, y);
}

function zooming() {
  const apart = ({ touches: [one, two] }) => Math.hypot(one.clientX - two.clientX, one.clientY - two.clientY);
  let pinched = null;
  papers.addEventListener('touchstart', event => {
    if (event.touches.length === 2) pinched = { apart: apart(event), zoom };
  }, { passive: true });
  papers.addEventListener('touchmove', event => {
    if (!pinched || event.touches.length !== 2) return;
    event.preventDefault();
    const [one, two] = event.touches, { left, top } = papers.getBoundingClientRect();
    zoomTo(pinched.zoom * apart(event) / pinched.apart, (one.clientX + two.clientX) / 2 - left, (one.clientY + two.clientY) / 2 - top);
  }, { passive: false });
  papers.addEventListener('touchend', () => { pinched = null; }, { passive: true });
  papers.addEventListener('wheel', event => { // how a trackpad tells a pinch
    if (!event.ctrlKey) return;
    event.preventDefault();
    const { left, top } = papers.getBoundingClientRect();
    zoomTo(zoom * Math.exp(-event.deltaY / 200), event.clientX - left, event.clientY - top);
  }, { passive: false });
  for (const button of all('[data-zoom]')) {
    button.addEventListener('click', () => zoomTo(Math.round((zoom + STEP * button.dataset.zoom) / STEP) * STEP));
  }
}

// Where each page lies now, measured once: while something is dragged, nothing is measured again.
export function laidOut() {
  const { left, top, right, bottom } = papers.getBoundingClientRect();
  const boxes = leaves.map(leaf => {
    const box = leaf.node.getBoundingClientRect();
    return { leaf, left: box.left, top: box.top + papers.scrollTop, width: box.width, height: box.height };
  });
  let scrolled = papers.scrollTop, least = 0;
  const most = papers.scrollHeight - papers.clientHeight;
  return {
    of: leaf => boxes[leaf.index],
    inside: (x, y) => x > left && x < right && y > top && y < bottom,
    // The page at a point of the window; the nearest one above or below if it lies between two.
    at(x, y) {
      const wanted = y + scrolled;
      let from = 0, to = boxes.length - 1;
      while (from < to) {
        const middle = (from + to) >> 1;
        if (boxes[middle].top + boxes[middle].height < wanted) from = middle + 1; else to = middle;
      }
      return boxes[from];
    },
    scrolled: () => scrolled,
    // Near the edge the pages move on by themselves: whether they did.
    follow(y) {
      const by = y < top + 40 ? Math.max(-24, (y - top - 40) / 2) : y > bottom - 40 ? Math.min(24, (y - bottom + 40) / 2) : 0;
      const next = Math.min(most, Math.max(least, scrolled + by));
      if (next === scrolled) return false;
      papers.scrollTop = scrolled = next;
      return true;
    },
  };
}

// The page in the middle of the view, and the point of it there.
export function middle() {
  const { left, top, width, height } = papers.getBoundingClientRect(), pages = laidOut();
  const box = pages.at(left + width / 2, top + height / 2);
  const x = (left + width / 2 - box.left) / box.width, y = (top + height / 2 + pages.scrolled() - box.top) / box.height;
  return { leaf: box.leaf, x: Math.min(1, Math.max(0, x)), y: Math.min(1, Math.max(0, y)) };
}

zooming();
new ResizeObserver(() => show(zoom, papers.clientWidth / 2, 0)).observe(papers);
show(1, 0, 0);
