// Keeps what is filled in: half a second after the last change, and on leaving.
import { all } from './page.js';
import { form, given } from './fields.js';

const PAUSE = 500, AGAIN = 5000; // milliseconds
const OF_VALUES = [400, 413, 422]; // what the server answers to a value that it does not take

// `told` hears how it stands: 'kept', 'offline', 'again', 'refused' with what is wrong and the fields that it is about,
// or 'over' with what keeps the server from taking anything.
export function keeper(told) {
  const changed = new Map();
  let timer = 0, over = false, flight = null; // one at a time: of two, the later could arrive first

  const soon = wait => { clearTimeout(timer); timer = setTimeout(send, wait); };
  const put = (values, options) => fetch(`${form.getAttribute('action')}/fields`, {
    method: 'PUT', ...options, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ values }),
  });
  async function flown(sending) {
    const own = flight = new AbortController();
    try {
      await sending(own.signal);
    } finally {
      if (flight === own) flight = null;
    }
  }

  // Whether that was all: what is refused is not sent again until it is changed, unless it is one of several.
  async function taken(values, signal) {
    const answer = await put(values, { signal }), ids = Object.keys(values);
    if (answer.status === 429 || answer.status >= 500) throw new Error(answer.status);
    if (!answer.ok && !OF_VALUES.includes(answer.status)) return told('over', (await answer.json()).error, []), true;
    if (!answer.ok && ids.length > 1) return false;
    const standing = ids.filter(id => changed.get(id) === values[id]);
    for (const id of standing) changed.delete(id);
    if (answer.ok) told('kept', '', ids);
    else if (standing.length) told('refused', (await answer.json()).error, ids); // of what stands there, not of what stood
    return true;
  }
  async function round(signal) {
    const values = Object.fromEntries(changed);
    try {
      if (await taken(values, signal)) return;
      // One that is wrong shall not keep the others from being kept.
      for (const [id, value] of Object.entries(values)) await taken({ [id]: value }, signal);
    } catch {
      if (!signal.aborted) told(navigator.onLine ? 'again' : 'offline', '', []);
      soon(AGAIN);
    }
  }
  function send() {
    if (over || !changed.size) return;
    if (flight) soon(PAUSE); else flown(round);
  }
  // What is on its way is given up for what stands there now: there may be no time to wait for it.
  function leave() {
    if (over || !changed.size) return;
    flight?.abort();
    flown(() => Promise.allSettled([...changed].map(([id, value]) => put({ [id]: value }, { keepalive: true }))));
    soon(AGAIN); // if they come back
  }

  function note(input) {
    if (input.type === 'radio') for (const other of all(`[name="${input.name}"]`, form)) changed.delete(other.dataset.keep);
    changed.set(input.dataset.keep, given(input));
    soon(PAUSE);
  }
  form.addEventListener('input', ({ target }) => { if (target.dataset.keep) note(target); });
  for (const input of all('[data-keep]', form)) if (isTouched(input)) note(input);
  addEventListener('online', () => { if (changed.size) soon(0); else told('kept', '', []); });
  addEventListener('offline', () => { if (changed.size) told('offline', '', []); });
  addEventListener('pagehide', leave);
  document.addEventListener('visibilitychange', () => { if (document.hidden) leave(); });

  return { stop: () => { over = true; } };
}

// Whether it was filled in before this began: on a slow line people are faster.
function isTouched(input) {
  if (input.type === 'radio') return input.checked && !input.defaultChecked;
  if (input.type === 'checkbox') return input.checked !== input.defaultChecked;
  if (!input.options) return input.value !== input.defaultValue;
  return input.selectedIndex !== Math.max(0, [...input.options].findIndex(option => option.defaultSelected));
}
