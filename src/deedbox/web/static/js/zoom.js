// Zoom of the pages alone: what is filled in never leaves the screen.
import { $, all } from './page.js';

const LEAST = 1, MOST = 3, STEP = .5;

export function zoom(pages) {
  let level = 1, pinched = null;

  // Keeps the point under (x, y) of the window where it is.
  function to(wanted, x = pages.clientWidth / 2, y = pages.clientHeight / 2) {
    const next = Math.min(MOST, Math.max(LEAST, wanted)), grown = next / level;
    if (grown === 1) return;
    const left = (pages.scrollLeft + x) * grown - x, top = (pages.scrollTop + y) * grown - y;
    level = next;
    pages.style.setProperty('--zoom', level);
    pages.scrollTo({ left, top, behavior: 'instant' });
    sharpen();
    for (const button of all('[data-zoom]')) button.disabled = level === (button.dataset.zoom > 0 ? MOST : LEAST);
  }
  // A larger page asks for a larger picture.
  function sharpen() {
    for (const image of all('img[srcset]', pages)) image.sizes = `${Math.ceil(image.clientWidth)}px`;
  }
  const apart = ({ touches: [one, two] }) => Math.hypot(one.clientX - two.clientX, one.clientY - two.clientY);

  pages.addEventListener('touchstart', event => {
    if (event.touches.length === 2) pinched = { apart: apart(event), level };
  }, { passive: true });
  pages.addEventListener('touchmove', event => {
    if (!pinched || event.touches.length !== 2) return;
    event.preventDefault();
    const [one, two] = event.touches, { left, top } = pages.getBoundingClientRect();
    to(pinched.level * apart(event) / pinched.apart, (one.clientX + two.clientX) / 2 - left, (one.clientY + two.clientY) / 2 - top);
  }, { passive: false });
  pages.addEventListener('touchend', () => { pinched = null; }, { passive: true });
  pages.addEventListener('wheel', event => { // how a trackpad tells a pinch
    if (!event.ctrlKey) return;
    event.preventDefault();
    const { left, top } = pages.getBoundingClientRect();
    to(level * Math.exp(-event.deltaY / 200), event.clientX - left, event.clientY - top);
  }, { passive: false });
  for (const button of all('[data-zoom]')) {
    button.disabled = button.dataset.zoom < 0;
    button.addEventListener('click', () => to(level + STEP * button.dataset.zoom));
  }
  $('.zoom').hidden = false;
}
