// The pages in the middle of the editor: how large they are shown, and which of them lies where.
import { $, all } from './page.js';

export const MM = 25.4 / 72; // of a point, in which pages are measured
export const within = (value, least, most) => Math.max(least, Math.min(value, most));
const LEAST = .5, MOST = 3, STEP = .25, WIDTH = 680 / 595, EDGE = 32; // WIDTH: pixels to a point at 100 %
const PICTURES = [480, 820, 1240, 1860, 2480];

export const papers = $('.papers');
export const leaves = all('.paper', papers).map((node, index) => {
  const { file, fileId, document: within, page, width, height } = node.dataset;
  node.style.setProperty('--width', width);
  node.style.setProperty('--height', height);
  return { node, index, file: +file, fileId, within, page: +page, width: +width, height: +height, picture: $('img', node), asked: 0 };
});
const byPlace = new Map(leaves.map(leaf => [`${leaf.file} ${leaf.page}`, leaf]));
export const leafOf = field => byPlace.get(`${field.file} ${field.page}`);
const widest = Math.max(...leaves.map(leaf => leaf.width));
let zoom = 1, scale = WIDTH;
export const scaleNow = () => scale;

// Keeps the point (x, y) of the pages' own box where it is.
function show(wanted, x, y) {
  const room = papers.clientWidth - 2 * parseFloat(getComputedStyle(papers).paddingLeft);
  const next = Math.max(.1, Math.min(WIDTH, room / widest)) * wanted, grown = next / scale;
  const left = (papers.scrollLeft + x) * grown - x, top = (papers.scrollTop + y) * grown - y;
  [zoom, scale] = [wanted, next];
  papers.style.setProperty('--scale', scale);
  papers.scrollTo({ left, top, behavior: 'instant' });
  $('#percent').textContent = `${Math.round(zoom * 100)} %`;
  for (const button of all('[data-zoom]')) button.disabled = zoom === (button.dataset.zoom > 0 ? MOST : LEAST);
  leaves.forEach(sharpen);
}
// A larger page asks for a larger picture, once it comes near.
function sharpen(leaf) {
  const wanted = leaf.width * scale * devicePixelRatio, width = PICTURES.find(one => one >= wanted) ?? PICTURES.at(-1);
  if (width > leaf.asked) leaf.picture.src = `${leaf.picture.dataset.path}?width=${leaf.asked = width}`;
}
function zoomAt(wanted, clientX, clientY) {
  const { left, top } = papers.getBoundingClientRect();
  show(within(wanted, LEAST, MOST), clientX - left, clientY - top);
}

const apart = ([one, two]) => Math.hypot(one.clientX - two.clientX, one.clientY - two.clientY);
let pinched = null;
papers.addEventListener('touchstart', ({ touches }) => { pinched = touches.length === 2 ? zoom / apart(touches) : null; }, { passive: true });
papers.addEventListener('touchmove', event => {
  const [one, two] = event.touches;
  if (!pinched || !two) return;
  event.preventDefault();
  zoomAt(pinched * apart(event.touches), (one.clientX + two.clientX) / 2, (one.clientY + two.clientY) / 2);
}, { passive: false });
papers.addEventListener('wheel', event => { // how a trackpad tells a pinch
  if (!event.ctrlKey) return;
  event.preventDefault();
  zoomAt(zoom * Math.exp(-event.deltaY / 200), event.clientX, event.clientY);
}, { passive: false });
for (const button of all('[data-zoom]')) button.addEventListener('click', () => {
  const wanted = Math.round(zoom / STEP + +button.dataset.zoom) * STEP;
  show(within(wanted, LEAST, MOST), papers.clientWidth / 2, papers.clientHeight / 2);
});

// Where each page lies now, measured once: while something is dragged, nothing is measured again.
export function laidOut() {
  const { left, top, right, bottom } = papers.getBoundingClientRect(), most = papers.scrollHeight - papers.clientHeight;
  let scrolled = papers.scrollTop;
  const boxes = leaves.map(leaf => {
    const box = leaf.node.getBoundingClientRect();
    return { leaf, left: box.left, top: box.top + scrolled, width: box.width, height: box.height };
  });
  return {
    of: leaf => boxes[leaf.index],
    inside: (x, y) => x > left && x < right && y > top && y < bottom,
    // The page at this height of the window, else the next one below.
    at: y => boxes.find(box => box.top + box.height > y + scrolled) ?? boxes.at(-1),
    scrolled: () => scrolled,
    // Near the edge the pages move on by themselves: whether they did.
    follow(y) {
      scrolled = papers.scrollTop; // a wheel may turn meanwhile
      const by = Math.min(0, y - top - EDGE) + Math.max(0, y - bottom + EDGE), next = within(scrolled + within(by / 5, -20, 20), 0, most);
      if (next === scrolled) return false;
      papers.scrollTop = scrolled = next;
      return true;
    },
  };
}
// A point of the window on its page, in fractions of it.
export function pointAt(clientX, clientY) {
  const pages = laidOut(), box = pages.at(clientY);
  return { leaf: box.leaf, x: (clientX - box.left) / box.width, y: within((clientY + pages.scrolled() - box.top) / box.height, 0, 1) };
}
export function middle() {
  const { left, top, width, height } = papers.getBoundingClientRect();
  return pointAt(left + width / 2, top + height / 2);
}

new ResizeObserver(() => show(zoom, papers.clientWidth / 2, 0)).observe(papers);
show(1, 0, 0);
