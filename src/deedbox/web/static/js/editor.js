// The field editor: people and kinds on the left, pages in the middle, the chosen field on the right.
import { $, all, filled } from './page.js';
import * as acts from './acts.js';
import { draw, keyOf, nodeOf, people, personOf, said, words } from './boxes.js';
import { dragBand, dragCorner, dragFields, dragKind } from './drag.js';
import * as properties from './properties.js';
import { sketch as sketched } from './sketch.js';
import { leafOf, leaves, middle, papers, pointAt } from './view.js';

const STEP = .4, LARGE = 10, AGAIN = 5000; // millimetres; milliseconds
const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const kinds = all('.kinds [data-kind]');
let who = '', armed = null, chosen = new Set(), readied = null, dropping = false, again = 0;

const sketch = sketched(papers.dataset.sketch, told, redraw);
const tell = (sentence, values = {}) => { $('#told').textContent = filled(sentence, values); };

function told(state, why = words[state]) {
  $('#kept').dataset.state = state;
  $('#kept').textContent = why;
  $('#elsewhere').hidden = state !== 'elsewhere';
}
function redraw() {
  const { fields } = sketch;
  for (const key of chosen) if (!sketch.find(key)) chosen.delete(key);
  draw(fields, chosen);
  if (!dropping) panel(fields);
}
function panel(fields) {
  properties.fill(fields, chosen);
  if (readied !== fields) properties.ready(readied = fields, go);
  $('#undo').disabled = !sketch.canUndo;
  $('#redo').disabled = !sketch.canRedo;
}
function choose(...keys) {
  chosen = new Set(keys);
  redraw();
}
// With Shift: one more, or one less.
function chooseToo(key) {
  if (!chosen.delete(key)) chosen.add(key);
  redraw();
}
function arm(kind) {
  armed = armed === kind ? null : kind;
  for (const button of kinds) button.setAttribute('aria-pressed', button.dataset.kind === armed);
  papers.classList.toggle('armed', armed);
  if (armed) tell(words.armed);
}
function pick(key) {
  who = key;
  for (const person of people) person.node.setAttribute('aria-pressed', person.key === who);
}
function focus(key) {
  nodeOf(key)?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  nodeOf(key)?.focus({ preventScroll: true });
}
function go(key) {
  choose(key);
  nodeOf(key).scrollIntoView({ block: 'center' });
  properties.first().focus();
}

function place(kind, at) {
  const [fields, key] = acts.placed(sketch.fields, kind, who, at);
  chosen = new Set([key]);
  sketch.step(fields);
  focus(key);
  tell(words.placed, { field: said(sketch.find(key)) });
}
const change = (act, ...more) => { if (chosen.size) sketch.step(act(sketch.fields, chosen, ...more)); };
function take([fields, keys]) {
  if (!keys.size) return;
  chosen = keys;
  sketch.step(fields);
  focus([...keys][0]);
  tell(words.copied, { count: keys.size });
}
const COMMANDS = {
  double: () => { if (chosen.size) take(acts.doubled(sketch.fields, chosen)); },
  copy() {
    if (!chosen.size) return;
    acts.copy(sketch.fields, chosen);
    tell(words.copies, { count: chosen.size });
  },
  paste: () => take(acts.pasted(sketch.fields, who, middle().leaf)),
  remove() {
    tell(words.removed, { count: chosen.size });
    change((fields, keys) => fields.filter(field => !keys.has(field.key)));
  },
  undo: () => { sketch.undo(); tell(words.undone); },
  redo: () => { sketch.redo(); tell(words.redone); },
  everywhere: () => { change(acts.onAllPages); tell(words.everywhere, { count: leaves.length }); },
  left: () => change(acts.aligned, 'x'),
  top: () => change(acts.aligned, 'y'),
  size: () => change(acts.aligned, 'wh'),
  all: () => choose(...sketch.fields.filter(field => leafOf(field) === middle().leaf).map(field => field.key)),
  close: () => choose(),
  load,
};

// What could not be read is not drawn on: it would look like a draft without fields.
async function load() {
  clearTimeout(again);
  const read = await sketch.load(), { dataset } = document.documentElement;
  if (read) dataset.ready = '';
  $('#unread').hidden = read;
  if (!read && $('#kept').dataset.state !== 'refused') again = setTimeout(load, AGAIN);
  papers.inert = $('#left').inert = !('ready' in dataset);
}

// What was dragged is where it was dropped; what can be said of it follows, so that nothing holds up the drop.
const drop = key => places => {
  dropping = true;
  if (places) sketch.step(acts.changed(sketch.fields, places, field => places.get(field.key)));
  dropping = false;
  setTimeout(() => {
    panel(sketch.fields);
    focus(key);
  });
};
const isCorner = ({ clientX, clientY, pointerType }, node) => {
  const { right, bottom } = node.getBoundingClientRect(), near = pointerType === 'touch' ? 22 : 10;
  return clientX > right - near && clientY > bottom - near;
};
function pressField(down, key) {
  const node = nodeOf(key);
  if (down.shiftKey) return chooseToo(key);
  if (chosen.size === 1 && chosen.has(key) && isCorner(down, node)) return dragCorner(down, sketch.find(key), sketch.fields, drop(key));
  if (!chosen.has(key)) draw(sketch.fields, chosen = new Set([key])); // the rest follows once it is let go
  dragFields(down, key, chosen, sketch.fields, drop(key));
}
papers.addEventListener('pointerdown', down => {
  const key = keyOf(down.target);
  if (down.button || !down.isPrimary) return;
  if (key) pressField(down, key);
  else if (!armed && down.pointerType !== 'touch' && down.target.closest('.paper')) {
    dragBand(down, sketch.fields, keys => choose(...(down.shiftKey ? chosen : []), ...keys));
  }
});
papers.addEventListener('click', event => {
  const key = keyOf(event.target), kind = armed;
  if (key && event.detail === 0) { // by key: the first press chooses, the next goes on to what can be said of it
    if (event.shiftKey) chooseToo(key);
    else if (chosen.has(key)) properties.first().focus();
    else choose(key);
  } else if (key && !event.shiftKey) choose(key);
  else if (kind && !key && event.target.closest('.paper')) {
    arm(kind);
    place(kind, pointAt(event.clientX, event.clientY));
  } else if (!key && chosen.size && !event.shiftKey) choose();
});

for (const button of kinds) {
  button.addEventListener('pointerdown', down => {
    if (!down.button && down.isPrimary) dragKind(down, button, personOf(who)?.who ?? '', sketch.fields, place);
  });
  button.addEventListener('click', event => {
    if (event.detail === 0) place(button.dataset.kind, middle());
    else arm(button.dataset.kind);
  });
}
for (const person of people) person.node.addEventListener('click', () => pick(person.key));
properties.listen((made, name) => sketch.step(acts.changed(sketch.fields, chosen, made), `${name} ${[...chosen]}`));

const LETTERS = { z: 'undo', y: 'redo', d: 'double', c: 'copy', v: 'paste', a: 'all' };
function command(event) {
  const letter = event.key.toLowerCase();
  if (!LETTERS[letter] || (letter === 'c' && !getSelection().isCollapsed)) return;
  event.preventDefault();
  COMMANDS[event.shiftKey && letter === 'z' ? 'redo' : LETTERS[letter]]();
}
function nudge(event, key) {
  const [x, y] = WAYS[event.key], by = STEP * (event.shiftKey ? LARGE : 1);
  event.preventDefault();
  change(event.altKey ? acts.sized : acts.moved, x * by, y * by);
  if (key) focus(key);
}
function escape(target) {
  if (armed) arm(armed);
  else if (target.closest('#field')) focus([...chosen][0]);
  else choose();
}
addEventListener('keydown', event => {
  const { target } = event, key = keyOf(target), commanding = event.ctrlKey || event.metaKey, removing = ['Delete', 'Backspace'].includes(event.key);
  if (papers.inert) return;
  if (event.key === 'Escape') return escape(target);
  if (target.matches('input:not([type=checkbox]), select, textarea')) return;
  // A key acts on the field that has the focus, if that is not one of several.
  if (key && !chosen.has(key) && ((commanding && LETTERS[event.key.toLowerCase()]) || removing || WAYS[event.key])) choose(key);
  if (commanding) command(event);
  else if (!key && target !== papers && target !== document.body) return;
  else if (WAYS[event.key] && chosen.size) nudge(event, key);
  else if (removing && chosen.size) COMMANDS.remove();
});

// On to the next page only once all is kept.
document.addEventListener('click', async event => {
  const link = event.target.closest('a[data-keeps]');
  COMMANDS[event.target.closest('[data-act]')?.dataset.act]?.();
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  // Before the fields are read there is nothing to save.
  if (!('ready' in document.documentElement.dataset) || await sketch.keep()) location.href = link.href;
});

pick(people[0]?.key ?? '');
await load();
