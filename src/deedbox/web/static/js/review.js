// The last words before sending: kept in this tab while someone goes back to people or fields; sent once.
import { $, memory } from './page.js';

const form = $('form.review'), kept = `review:${location.pathname}`;
const boxes = ['title', 'subject', 'body', 'days', 'first', 'every', 'most'].map(name => form.elements[name]);
let sending = false;

const before = JSON.parse(memory.getItem(kept) ?? 'null');
if (before && !$('[aria-invalid]', form)) boxes.forEach((box, at) => { box.value = before[at]; });
form.addEventListener('input', () => memory.setItem(kept, JSON.stringify(boxes.map(box => box.value))));
form.addEventListener('submit', event => {
  if (sending) return event.preventDefault(); // a second press while the first is under way
  sending = true;
  memory.removeItem(kept);
});
addEventListener('pageshow', event => { if (event.persisted) sending = false; });
