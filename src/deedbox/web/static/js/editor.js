// The field editor: people and kinds on the left, pages in the middle, the chosen field on the right.
import { $, all, filled } from './page.js';
import * as acts from './acts.js';
import { draw, keyOf, nodeOf, people, personOf, said, words } from './boxes.js';
import { dragBand, dragCorner, dragFields, dragKind } from './drag.js';
import * as properties from './properties.js';
import { sketch as sketched } from './sketch.js';
import { laidOut, leafOf, leaves, middle, papers } from './view.js';

const STEP = .4, LARGE = 10; // millimetres
const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
let who = people[0]?.key ?? '', armed = null, chosen = new Set(), shownFor = null;

const sketch = sketched(papers.dataset.sketch, told, redraw);
const tell = sentence => { $('#told').textContent = sentence; };

function told(state, why) {
  $('#kept').dataset.state = state;
  $('#kept').textContent = why ?? words[state];
  $('#elsewhere').hidden = state !== 'elsewhere';
}
function redraw() {
  const { fields } = sketch;
  const left = new Set([...chosen].filter(key => sketch.find(key)));
  if (left.size !== chosen.size) chosen = left;
  draw(fields, chosen);
  properties.fill(fields, chosen);
  if (shownFor !== fields) properties.ready(shownFor = fields, go);
  $('#undo').disabled = !sketch.canUndo;
  $('#redo').disabled = !sketch.canRedo;
}
function choose(keys) {
  chosen = new Set(keys);
  redraw();
}
function arm(kind) {
  armed = armed === kind ? null : kind;
  for (const button of all('.kinds [data-kind]')) button.setAttribute('aria-pressed', button.dataset.kind === armed);
  papers.classList.toggle('armed', Boolean(armed));
  if (armed) tell(words.armed);
}
function pick(key) {
  who = key;
  for (const person of people) person.node.setAttribute('aria-pressed', person.key === who);
}
const focus = (key, scroll) => {
  const node = nodeOf(key);
  if (scroll) node?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  node?.focus({ preventScroll: true });
};
function go(key) {
  choose([key]);
  nodeOf(key).scrollIntoView({ block: 'center' });
  properties.first().focus();
}

function place(kind, at) {
  const [fields, key] = acts.placed(sketch.fields, kind, who, at);
  chosen = new Set([key]);
  sketch.step(fields);
  focus(key, true);
  tell(filled(words.placed, { field: said(sketch.find(key)) }));
}
const change = (next, token) => { if (chosen.size) sketch.step(next(sketch.fields, chosen), token); };
function taken(made) {
  const [fields, keys] = made;
  if (!keys.size) return;
  chosen = keys;
  sketch.step(fields);
  focus([...keys][0], true);
  tell(filled(words.copied, { count: keys.size }));
}
const double = () => { if (chosen.size) taken(acts.doubled(sketch.fields, chosen)); };
const copy = () => { if (chosen.size) tell(filled(words.copies, { count: acts.copy(sketch.fields, chosen) })); };
const paste = () => taken(acts.pasted(sketch.fields, who, middle().leaf));
function remove() {
  const count = chosen.size, gone = chosen;
  if (!count) return;
  chosen = new Set();
  sketch.step(sketch.fields.filter(field => !gone.has(field.key)));
  tell(filled(words.removed, { count }));
}
const COMMANDS = {
  double, copy, paste, remove,
  undo: () => { sketch.undo(); tell(words.undone); },
  redo: () => { sketch.redo(); tell(words.redone); },
  everywhere: () => { change(acts.onAllPages); tell(filled(words.everywhere, { count: leaves.length })); },
  left: () => change((fields, keys) => acts.aligned(fields, keys, 'left')),
  top: () => change((fields, keys) => acts.aligned(fields, keys, 'top')),
  size: () => change((fields, keys) => acts.aligned(fields, keys, 'size')),
  close: () => choose([]),
  load: () => sketch.load(),
};

// What was dragged is where it was dropped.
const dropped = places => {
  sketch.step(sketch.fields.map(field => (places.has(field.key) ? acts.keptIn({ ...field, ...places.get(field.key) }) : field)));
};
const isCorner = ({ clientX, clientY, pointerType }, node) => {
  const { right, bottom } = node.getBoundingClientRect(), near = pointerType === 'touch' ? 22 : 10;
  return clientX > right - near && clientY > bottom - near;
};
function pressField(down, key) {
  const node = nodeOf(key), corner = chosen.size === 1 && chosen.has(key) && isCorner(down, node);
  if (down.shiftKey) {
    if (!chosen.delete(key)) chosen.add(key);
    return choose(chosen);
  }
  if (!chosen.has(key)) choose([key]);
  else if (chosen.size > 1) node.addEventListener('click', event => { if (event.detail) choose([key]); }, { once: true });
  if (corner) dragCorner(down, sketch.find(key), sketch.fields, dropped);
  else dragFields(down, key, chosen, sketch.fields, places => { dropped(places); focus(key); });
}
papers.addEventListener('pointerdown', down => {
  const key = keyOf(down.target);
  if (down.button || !down.isPrimary) return;
  if (key) return pressField(down, key);
  if (armed || down.pointerType === 'touch' || !down.target.closest('.paper')) return;
  dragBand(down, sketch.fields, keys => choose(down.shiftKey ? [...chosen, ...keys] : keys));
});
papers.addEventListener('click', event => {
  const key = keyOf(event.target), page = event.target.closest('.paper');
  if (key && event.detail === 0) { // by key: the first press chooses, the next goes on to what can be said of it
    if (event.shiftKey) choose(chosen.has(key) ? [...chosen].filter(one => one !== key) : [...chosen, key]);
    else if (chosen.has(key)) properties.first().focus();
    else choose([key]);
  } else if (!key && armed && page) {
    const pages = laidOut(), leaf = leaves.find(one => one.node === page), box = pages.of(leaf), kind = armed;
    arm(armed);
    place(kind, { leaf, x: (event.clientX - box.left) / box.width, y: (event.clientY + pages.scrolled() - box.top) / box.height });
  } else if (!key && chosen.size && !event.shiftKey) choose([]);
});

for (const button of all('.kinds [data-kind]')) {
  button.addEventListener('pointerdown', down => {
    if (!down.button && down.isPrimary) dragKind(down, button, personOf(who)?.who ?? '', sketch.fields, place);
  });
  button.addEventListener('click', event => {
    if (event.detail === 0) place(button.dataset.kind, middle());
    else arm(button.dataset.kind);
  });
}
for (const person of people) person.node.addEventListener('click', () => pick(person.key));
document.addEventListener('click', event => { COMMANDS[event.target.closest('[data-act]')?.dataset.act]?.(); });
properties.listen((made, name) => change((fields, keys) => acts.changed(fields, keys, made), `${name} ${[...chosen]}`));

const LETTERS = { z: 'undo', y: 'redo', d: 'double', c: 'copy', v: 'paste' };
function command(event) {
  const letter = event.key.toLowerCase();
  if (letter === 'a') choose(sketch.fields.filter(field => leafOf(field) === middle().leaf).map(field => field.key));
  else if (letter === 'c' && !getSelection().isCollapsed) return;
  else if (LETTERS[letter]) COMMANDS[event.shiftKey && letter === 'z' ? 'redo' : LETTERS[letter]]();
  else return;
  event.preventDefault();
}
function nudge(event) {
  const [x, y] = WAYS[event.key], by = STEP * (event.shiftKey ? LARGE : 1);
  event.preventDefault();
  change((fields, keys) => (event.altKey ? acts.sized : acts.moved)(fields, keys, x * by, y * by));
  const focused = keyOf(document.activeElement);
  if (focused) nodeOf(focused).scrollIntoView({ block: 'nearest', inline: 'nearest' });
}
addEventListener('keydown', event => {
  const typing = event.target.matches('input:not([type=checkbox]), select, textarea'), key = keyOf(event.target);
  if (event.key === 'Escape') {
    const [back] = chosen;
    if (armed) arm(armed);
    else if (event.target.closest('#field')) focus(back);
    else choose([]);
    return;
  }
  if (typing || event.target.closest('dialog')) return;
  const acting = event.key in WAYS || event.key === 'Delete' || event.key === 'Backspace' || event.ctrlKey || event.metaKey;
  if (key && acting && !chosen.has(key) && !['Control', 'Meta', 'Shift'].includes(event.key)) choose([key]);
  if (event.ctrlKey || event.metaKey) command(event);
  else if (!key && event.target !== papers && event.target !== document.body) return;
  else if (event.key in WAYS && chosen.size) nudge(event);
  else if (event.key === 'Delete' || event.key === 'Backspace') remove();
});

// On to the next page only once all is kept.
document.addEventListener('click', async event => {
  const link = event.target.closest('a[data-keeps]');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  document.activeElement.blur();
  if (await sketch.keep()) location.href = link.href;
});

pick(who);
await sketch.load();
document.documentElement.dataset.ready = '';
