// Keeps what is filled in: half a second after the last change, and on leaving.
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

  async function send() {
    if (over || !changed.size) return;
    const values = Object.fromEntries(changed), ids = [...changed.keys()];
    try {
      const answer = await put(values, false);
      if (answer.status === 429 || answer.status >= 500) throw new Error(answer.status);
      for (const id of ids) if (changed.get(id) === values[id]) changed.delete(id);
      if (answer.ok) told('kept', '', ids);
      else told('refused', (await answer.json()).error, ids);
    } catch {
      told(navigator.onLine ? 'again' : 'offline', '', ids);
      soon(AGAIN);
    }
  }
  function leave() {
    if (!over && changed.size) put(Object.fromEntries(changed), true).catch(() => {});
  }

  form.addEventListener('input', event => {
    const { target } = event, id = target.dataset.keep;
    if (!id) return;
    changed.set(id, given(target));
    soon(PAUSE);
  });
  addEventListener('online', () => soon(0));
  addEventListener('offline', () => told('offline', '', []));
  addEventListener('pagehide', leave);
  document.addEventListener('visibilitychange', () => { if (document.hidden) leave(); });

  return { stop: () => { over = true; }, go: () => { over = false; } };
}
