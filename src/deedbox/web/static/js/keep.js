// Keeps what is filled in: half a second after the last change, and on leaving.
import { all } from './page.js';
import { form, given } from './fields.js';

const PAUSE = 500, AGAIN = 5000; // milliseconds

// `told` hears how it stands: 'kept', 'offline', 'again', or what is wrong, with the fields that it is about.
export function keeper(told) {
  const changed = new Map();
  let timer = 0, over = false;

  const soon = wait => { clearTimeout(timer); timer = setTimeout(send, wait); };
  const put = (values, keepalive) => fetch(`${form.getAttribute('action')}/fields`, {
    method: 'PUT', keepalive, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ values }),
  });

  // Whether the server took these; what it refuses is not sent again until it is changed.
  async function taken(values) {
    const answer = await put(values, false), ids = Object.keys(values);
    if (answer.status === 429 || answer.status >= 500) throw new Error(answer.status);
    if (!answer.ok && ids.length > 1) return false;
    for (const id of ids) if (changed.get(id) === values[id]) changed.delete(id);
    if (answer.ok) told('kept', '', ids);
    else told('refused', (await answer.json()).error, ids);
    return true;
  }
  async function send() {
    if (over || !changed.size) return;
    const values = Object.fromEntries(changed);
    try {
      if (await taken(values)) return;
      // One that is wrong shall not keep the others from being kept.
      for (const [id, value] of Object.entries(values)) await taken({ [id]: value });
    } catch {
      told(navigator.onLine ? 'again' : 'offline', '', []);
      soon(AGAIN);
    }
  }
  function leave() {
    if (!over) for (const [id, value] of changed) put({ [id]: value }, true).catch(() => {});
  }

  form.addEventListener('input', event => {
    const { target } = event, id = target.dataset.keep;
    if (!id) return;
    if (target.type === 'radio') for (const other of all(`[name="${target.name}"]`, form)) changed.delete(other.dataset.keep);
    changed.set(id, given(target));
    soon(PAUSE);
  });
  addEventListener('online', () => soon(0));
  addEventListener('offline', () => told('offline', '', []));
  addEventListener('pagehide', leave);
  document.addEventListener('visibilitychange', () => { if (document.hidden) leave(); });

  return { stop: () => { over = true; } };
}
