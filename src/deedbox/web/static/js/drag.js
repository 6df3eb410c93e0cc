// Dragging: kinds onto a page, fields from place to place and to their size, and a band around several.
// Between press and release only the moved nodes change, once a frame; nothing is measured, nothing else is drawn.
import { made } from './page.js';
import { MM, laidOut, leafOf, leaves, papers, scaleNow } from './view.js';
import { edges, forget, held, wanted } from './snap.js';
import { iconOf, nameOf, nodeOf, put, restore } from './boxes.js';
import { SIZES } from './acts.js';

const FAR = 4; // pixels, from which on a press is a drag
const within = (value, least, most) => Math.max(least, Math.min(value, most));

// Follows a pointer from its press on. `begun`, `moved` by frame, and `ended` with whether it was released, not given up.
function track(down, holder, { begun, moved, ended }) {
  let last = down, frame = 0, pages = null;
  const paint = () => {
    frame = 0;
    if (pages.follow(last.clientY)) frame = requestAnimationFrame(paint);
    moved(last);
  };
  const move = event => {
    if (event.pointerId !== down.pointerId) return;
    last = event;
    if (!pages) {
      if (Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) < FAR) return;
      holder.setPointerCapture(down.pointerId);
      pages = laidOut();
      begun(pages);
    }
    frame ||= requestAnimationFrame(paint);
  };
  const stop = (event, kept) => {
    if (event.pointerId !== undefined && event.pointerId !== down.pointerId) return;
    cancelAnimationFrame(frame);
    listening.abort();
    if (!pages) return;
    if (kept) moved(last);
    forget();
    ended(kept);
  };
  const listening = new AbortController(), { signal } = listening;
  addEventListener('pointermove', move, { signal });
  addEventListener('pointerup', event => stop(event, true), { signal });
  addEventListener('pointercancel', event => stop(event, false), { signal });
  addEventListener('keydown', event => {
    if (event.key !== 'Escape' || !pages) return;
    event.stopImmediatePropagation();
    stop(event, false);
  }, { signal, capture: true });
}

// Offers of the page that something is over: gathered anew when it comes to another.
function offers(fields, moving) {
  let box = null, found = null;
  return next => {
    if (next !== box) [box, found] = [next, edges(next, fields, moving)];
    wanted(next.leaf);
    return found;
  };
}

// The chosen fields follow the one that is held; `dropped` gets what became of each, by its key.
export function dragFields(down, key, keys, fields, dropped) {
  const items = fields.filter(field => keys.has(field.key)).map(field => ({ field, node: nodeOf(field.key), own: leafOf(field) }));
  const lead = items.find(item => item.field.key === key);
  let pages, grip, offered, after;
  function begun(found) {
    pages = found;
    offered = offers(fields, keys);
    const box = pages.of(lead.own);
    grip = { x: down.clientX - box.left - lead.field.x * box.width, y: down.clientY + pages.scrolled() - box.top - lead.field.y * box.height };
    for (const item of items) item.node.classList.add('moving');
  }
  function moved(event) {
    const over = pages.at(event.clientX, event.clientY), turned = over.leaf.index - lead.own.index;
    for (const item of items) {
      const from = pages.of(item.own);
      item.to = pages.of(leaves[within(item.own.index + turned, 0, leaves.length - 1)]);
      Object.assign(item, { x: item.field.x * from.width, y: item.field.y * from.height, w: item.field.w * from.width, h: item.field.h * from.height });
    }
    // All of them stay on their pages.
    const room = (at, size, side) => [Math.max(...items.map(item => -item[at])), Math.min(...items.map(item => item.to[side] - item[at] - item[size]))];
    const [left, right] = room('x', 'w', 'width'), [up, low] = room('y', 'h', 'height');
    let dx = within(event.clientX - over.left - grip.x - lead.x, left, right);
    let dy = within(event.clientY + pages.scrolled() - over.top - grip.y - lead.y, up, low);
    if (event.altKey) forget();
    else {
      const by = held(over, { x: lead.x + dx, y: lead.y + dy, w: lead.w, h: lead.h }, offered(over));
      [dx, dy] = [within(dx + by.x, left, right), within(dy + by.y, up, low)];
    }
    for (const { field, node, to, x, y, w, h } of items) {
      if (node.parentNode !== to.leaf.node) {
        to.leaf.node.append(node);
        put(node, { ...field, w: w / to.width, h: h / to.height });
      }
      node.style.translate = `${x + dx - field.x * to.width}px ${y + dy - field.y * to.height}px`;
    }
    after = [dx, dy];
  }
  function ended(kept) {
    for (const { field, node } of items) {
      node.classList.remove('moving');
      restore(field.key);
    }
    if (!kept) return;
    const [dx, dy] = after;
    dropped(new Map(items.map(({ field, to, x, y, w, h }) => [field.key, {
      file: to.leaf.file, page: to.leaf.page, x: (x + dx) / to.width, y: (y + dy) / to.height, w: w / to.width, h: h / to.height,
    }])));
  }
  track(down, papers, { begun, moved, ended });
}

// The far corner of one field follows the pointer.
export function dragCorner(down, field, fields, dropped) {
  const node = nodeOf(field.key), least = 3 / MM * scaleNow();
  let pages, offered, box, size;
  track(down, papers, {
    begun(found) {
      pages = found;
      offered = offers(fields, new Set([field.key]));
      box = pages.of(leafOf(field));
    },
    moved(event) {
      const x = field.x * box.width, y = field.y * box.height;
      let w = within(field.w * box.width + event.clientX - down.clientX, least, box.width - x);
      let h = within(field.h * box.height + event.clientY - down.clientY, least, box.height - y);
      const by = event.altKey ? (forget(), { x: 0, y: 0 }) : held(box, { x, y, w, h }, offered(box), true);
      [w, h] = [within(w + by.x, least, box.width - x), within(h + by.y, least, box.height - y)];
      size = { w: w / box.width, h: h / box.height };
      put(node, { ...field, ...size });
    },
    ended(kept) {
      restore(field.key);
      if (kept) dropped(new Map([[field.key, size]]));
    },
  });
}

// A kind of field on its way to a page; `dropped` gets the page and the middle of the new field on it.
export function dragKind(down, button, who, fields, dropped) {
  const { kind } = button.dataset, [w, h] = SIZES[kind].map(size => size / MM * scaleNow());
  const ghost = made('div', { class: 'box ghost', 'data-who': who, 'aria-hidden': 'true' }, iconOf(kind), made('span', {}, nameOf(kind)));
  let pages, offered, at = null;
  track(down, button, {
    begun(found) {
      pages = found;
      offered = offers(fields, new Set());
      ghost.style.width = `${w}px`;
      ghost.style.height = `${h}px`;
      ghost.style.setProperty('--scale', scaleNow());
      document.body.append(ghost);
    },
    moved({ clientX, clientY, altKey }) {
      const over = pages.inside(clientX, clientY) ? pages.at(clientX, clientY) : null;
      let [left, top] = [clientX - w / 2, clientY - h / 2];
      at = null;
      if (over) {
        const lifted = over.top - pages.scrolled();
        let x = within(left - over.left, 0, over.width - w), y = within(top - lifted, 0, over.height - h);
        const by = altKey ? (forget(), { x: 0, y: 0 }) : held(over, { x, y, w, h }, offered(over));
        [x, y] = [x + by.x, y + by.y];
        [left, top] = [over.left + x, lifted + y];
        at = { leaf: over.leaf, x: (x + w / 2) / over.width, y: (y + h / 2) / over.height };
      } else forget();
      ghost.style.translate = `${left}px ${top}px`;
    },
    ended(kept) {
      ghost.remove();
      button.addEventListener('click', event => event.stopImmediatePropagation(), { once: true, capture: true });
      if (kept && at) dropped(kind, at);
    },
  });
}

// A band: `caught` gets the keys of all fields that it touches.
export function dragBand(down, fields, caught) {
  const band = made('div', { class: 'band', 'aria-hidden': 'true' });
  let pages, box;
  track(down, papers, {
    begun(found) {
      pages = found;
      down.scrolled = pages.scrolled();
      document.body.append(band);
    },
    moved(event) {
      const top = down.clientY + down.scrolled - pages.scrolled();
      box = { left: Math.min(down.clientX, event.clientX), right: Math.max(down.clientX, event.clientX), top: Math.min(top, event.clientY), bottom: Math.max(top, event.clientY) };
      band.style.translate = `${box.left}px ${box.top}px`;
      band.style.width = `${box.right - box.left}px`;
      band.style.height = `${box.bottom - box.top}px`;
    },
    ended(kept) {
      band.remove();
      if (!kept) return;
      caught(fields.filter(field => {
        const page = pages.of(leafOf(field)), left = page.left + field.x * page.width, top = page.top - pages.scrolled() + field.y * page.height;
        return left < box.right && left + field.w * page.width > box.left && top < box.bottom && top + field.h * page.height > box.top;
      }).map(field => field.key));
    },
  });
}
