// Dragging: kinds onto a page, fields from place to place and to their size, and a band around several.
// Between press and release only the moved nodes change, once a frame; nothing is measured, nothing else is drawn.
import { made } from './page.js';
import { MM, laidOut, leafOf, leaves, papers, scaleNow, within } from './view.js';
import { edges, forget, held } from './snap.js';
import { iconOf, nameOf, nodeOf, put, restore } from './boxes.js';
import { LEAST, SIZES } from './acts.js';

const FAR = 4; // pixels, from which on a press is a drag
const to = (node, x, y) => { node.style.translate = `${x}px ${y}px`; };

// Follows a pointer from its press on: `begun`, `moved` once a frame, and `ended` with whether it was let go, not given up.
function track(down, holder, { begun, moved, ended }) {
  let last = down, frame = 0, pages = null;
  const listening = new AbortController(), listen = (kind, heard, capture) => addEventListener(kind, heard, { signal: listening.signal, capture });
  const paint = () => {
    frame = pages.follow(last.clientY) ? requestAnimationFrame(paint) : 0;
    moved(last);
  };
  const stop = (event, kept) => {
    if (event.key ? event.key !== 'Escape' : event.pointerId !== down.pointerId) return;
    cancelAnimationFrame(frame);
    listening.abort();
    if (!pages) return;
    // The click that follows is none.
    const ending = new AbortController();
    addEventListener('click', click => click.stopImmediatePropagation(), { signal: ending.signal, capture: true });
    setTimeout(() => ending.abort());
    event.stopImmediatePropagation();
    if (kept) moved(last);
    forget();
    ended(kept);
  };
  listen('pointermove', event => {
    if (event.pointerId !== down.pointerId) return;
    last = event;
    if (!pages) {
      if (Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) < FAR) return;
      holder.setPointerCapture(down.pointerId);
      begun(pages = laidOut());
    }
    frame ||= requestAnimationFrame(paint);
  });
  listen('pointerup', event => stop(event, true));
  listen('pointercancel', event => stop(event, false));
  listen('keydown', event => stop(event, false), true);
}
// What the page that something is over offers: gathered anew when it comes to another.
function offers(fields, moving = new Set()) {
  let page, found;
  return next => {
    if (next !== page) found = edges(page = next, fields, moving);
    return found;
  };
}

// The chosen fields follow the one that is held; `dropped` gets what became of each, by its key, or nothing.
export function dragFields(down, key, keys, fields, dropped) {
  const items = fields.filter(field => keys.has(field.key)).map(field => ({ field, node: nodeOf(field.key), own: leafOf(field) }));
  const lead = items.find(item => item.field.key === key), offered = offers(fields, keys);
  let pages, grip, dx, dy;
  track(down, papers, {
    begun(found) {
      pages = found;
      for (const item of items) {
        const { width, height } = pages.of(item.own), { x, y, w, h } = item.field;
        Object.assign(item, { x: x * width, y: y * height, w: w * width, h: h * height });
        item.node.classList.add('moving');
      }
      const box = pages.of(lead.own);
      grip = { x: down.clientX - box.left, y: down.clientY + pages.scrolled() - box.top };
    },
    moved(event) {
      const over = pages.at(event.clientY), turned = over.leaf.index - lead.own.index;
      for (const item of items) item.page = pages.of(leaves[within(item.own.index + turned, 0, leaves.length - 1)]);
      // All of them stay on their pages.
      const right = by => within(by, Math.max(...items.map(item => -item.x)), Math.min(...items.map(item => item.page.width - item.x - item.w)));
      const low = by => within(by, Math.max(...items.map(item => -item.y)), Math.min(...items.map(item => item.page.height - item.y - item.h)));
      [dx, dy] = [right(event.clientX - over.left - grip.x), low(event.clientY + pages.scrolled() - over.top - grip.y)];
      const by = held(event, over, { ...lead, x: lead.x + dx, y: lead.y + dy }, offered(over));
      [dx, dy] = [right(dx + by.x), low(dy + by.y)];
      for (const { field, node, page: { leaf, width, height }, x, y, w, h } of items) {
        if (node.parentNode !== leaf.node) {
          leaf.node.append(node);
          put(node, { ...field, w: w / width, h: h / height });
        }
        to(node, x + dx - field.x * width, y + dy - field.y * height);
      }
    },
    ended(kept) {
      for (const { field, node } of items) {
        node.classList.remove('moving');
        restore(field.key);
      }
      dropped(kept && new Map(items.map(({ field, page: { leaf, width, height }, x, y, w, h }) => [field.key, {
        file: leaf.file, page: leaf.page, x: (x + dx) / width, y: (y + dy) / height, w: w / width, h: h / height,
      }])));
    },
  });
}

// The far corner of one field follows the pointer.
export function dragCorner(down, field, fields, dropped) {
  const node = nodeOf(field.key), least = LEAST / MM * scaleNow(), offered = offers(fields, new Set([field.key]));
  let page, size;
  track(down, papers, {
    begun(pages) {
      page = pages.of(leafOf(field));
    },
    moved(event) {
      const { width, height } = page, x = field.x * width, y = field.y * height;
      const wide = by => within(by, least, width - x), high = by => within(by, least, height - y);
      const w = wide(field.w * width + event.clientX - down.clientX), h = high(field.h * height + event.clientY - down.clientY);
      const by = held(event, page, { x, y, w, h }, offered(page), true);
      size = { w: wide(w + by.x) / width, h: high(h + by.y) / height };
      put(node, { ...field, ...size });
    },
    ended(kept) {
      restore(field.key);
      dropped(kept && new Map([[field.key, size]]));
    },
  });
}

// A kind of field on its way to a page; `dropped` gets the page and the middle of the new field on it.
export function dragKind(down, button, who, fields, dropped) {
  const { kind } = button.dataset, [w, h] = SIZES[kind].map(size => size / MM * scaleNow()), offered = offers(fields);
  const ghost = made('div', { class: 'box ghost', 'data-who': who, 'aria-hidden': 'true' }, iconOf(kind), made('span', {}, nameOf(kind)));
  let pages, at;
  track(down, button, {
    begun(found) {
      pages = found;
      for (const [name, value] of [['width', `${w}px`], ['height', `${h}px`], ['--scale', scaleNow()]]) ghost.style.setProperty(name, value);
      document.body.append(ghost);
    },
    moved(event) {
      const { clientX, clientY } = event, over = pages.inside(clientX, clientY) ? pages.at(clientY) : null;
      at = null;
      if (!over) {
        forget();
        return to(ghost, clientX - w / 2, clientY - h / 2);
      }
      const top = over.top - pages.scrolled();
      let x = within(clientX - w / 2 - over.left, 0, over.width - w), y = within(clientY - h / 2 - top, 0, over.height - h);
      const by = held(event, over, { x, y, w, h }, offered(over));
      [x, y] = [x + by.x, y + by.y];
      to(ghost, over.left + x, top + y);
      at = { leaf: over.leaf, x: (x + w / 2) / over.width, y: (y + h / 2) / over.height };
    },
    ended(kept) {
      ghost.remove();
      if (kept && at) dropped(kind, at);
    },
  });
}

// A band: `caught` gets the keys of all fields that it touches.
export function dragBand(down, fields, caught) {
  const band = made('div', { class: 'band', 'aria-hidden': 'true' });
  let pages, from, x, y, w, h;
  track(down, papers, {
    begun(found) {
      pages = found;
      from = down.clientY + pages.scrolled();
      document.body.append(band);
    },
    moved({ clientX, clientY }) {
      const top = from - pages.scrolled();
      [x, y] = [Math.min(down.clientX, clientX), Math.min(top, clientY)];
      [w, h] = [Math.abs(down.clientX - clientX), Math.abs(top - clientY)];
      to(band, x, y);
      band.style.width = `${w}px`;
      band.style.height = `${h}px`;
    },
    ended(kept) {
      band.remove();
      if (kept) caught(fields.filter(field => {
        const page = pages.of(leafOf(field)), left = page.left + field.x * page.width, top = page.top - pages.scrolled() + field.y * page.height;
        return left < x + w && left + field.w * page.width > x && top < y + h && top + field.h * page.height > y;
      }).map(field => field.key));
    },
  });
}
