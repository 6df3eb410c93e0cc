// The fields as they stand: every change is a step that can be undone, and is kept on the server half a second later.
import { leafOf } from './view.js';

const DEPTH = 100, PAUSE = 500, AGAIN = 5000, JOINED = 1500, BEACON = 60000; // steps; milliseconds; bytes

// A field as it is sent: what says nothing is left out.
const says = (name, value) => value != null && value !== '' && value.length !== 0 && value.equals !== '' && (value !== false || name === 'required');
const plain = field => Object.fromEntries(Object.keys(field).sort().filter(name => says(name, field[name]))
  .map(name => [name, 'xywh'.includes(name) ? +field[name].toFixed(5) : field[name]]));
const written = fields => JSON.stringify(fields.map(plain));

// `told` hears how it stands: keeping, kept, offline, again, refused (and why), out, elsewhere. `changed` hears of steps.
export function sketch(path, told, changed) {
  let fields = [], kept = fields, version = 0, past = [], future = [], timer = 0, running = null, stopped = true; // until it is loaded
  let last = { token: '', at: 0 };

  const ask = options => fetch(path, { cache: 'no-store', redirect: 'manual', headers: { 'Content-Type': 'application/json', Accept: 'application/json' }, ...options });
  const shown = found => ({ ...found, fields: found.fields.filter(leafOf) });
  const read = async () => shown(await (await ask()).json());
  function put(of = version) {
    const body = `{"version":${of},"fields":${written(fields)}}`;
    // Beyond this a browser sends nothing of a page that is being left.
    return ask({ method: 'PUT', body, keepalive: body.length < BEACON });
  }
  // Another version by now: our own, whose answer was lost, one with the same fields, or someone else's work.
  async function compare(mine) {
    const answer = await read(), theirs = written(answer.fields);
    stopped = theirs !== written(mine) && theirs !== written(kept);
    if (stopped) told('elsewhere');
    else if (theirs === written(mine)) kept = mine;
    ({ version } = answer);
  }
  // What keeps us from what the server has; empty if nothing does.
  const hindered = answer => answer.type === 'opaqueredirect' || answer.status === 401 ? 'out' : answer.status === 429 || answer.status >= 500 ? 'again' : '';
  const unreached = () => navigator.onLine ? 'again' : 'offline';
  const later = state => { told(state); timer = setTimeout(keep, AGAIN); return false; };
  async function round() {
    while (kept !== fields && !stopped) try {
      const mine = fields, answer = await put();
      const why = hindered(answer);
      if (why) return later(why);
      if (answer.status === 409) await compare(mine);
      else if (!answer.ok) return told('refused', (await answer.json()).error), false;
      else [version, kept] = [(await answer.json()).version, mine];
    } catch {
      return later(unreached());
    }
    if (!stopped) told('kept');
    return !stopped;
  }
  // One at a time: of two, the later could arrive first. Whether all is kept.
  function keep() {
    clearTimeout(timer);
    return running ??= round().finally(() => { running = null; });
  }
  // While one is on its way nobody knows which version is next: one of both is.
  function leave() {
    if (kept !== fields && !stopped) for (const of of running ? [version, version + 1] : [version]) put(of).catch(() => {});
  }

  function become(next) {
    fields = next;
    if (!stopped) {
      told('keeping');
      clearTimeout(timer);
      timer = setTimeout(keep, PAUSE);
    }
    changed();
  }
  const remember = () => { past = [...past, fields].slice(-DEPTH); };
  // Steps with the same token soon after each other are one: a word is not undone letter by letter.
  function step(next, token = '') {
    const at = performance.now();
    if (!token || token !== last.token || at - last.at > JOINED) remember();
    last = { token, at };
    future = [];
    become(next);
  }
  function back(from, to) {
    if (!from.length) return;
    to.push(fields);
    last.token = '';
    become(from.pop());
  }
  // Whether it could be read.
  async function load() {
    let found;
    try {
      const answer = await ask(), why = hindered(answer);
      if (why) return told(why), false;
      found = await answer.json();
      if (!answer.ok) return told('refused', found.error), false;
    } catch {
      return told(unreached()), false;
    }
    const answer = shown(found);
    if (version) remember(); // so that what one had oneself can be had again
    ({ version } = answer);
    fields = kept = answer.fields;
    stopped = false;
    told('kept');
    changed();
    return true;
  }
  // Whoever comes back to a tab learns of what was done in another.
  function look() {
    if (document.hidden) keep();
    else if (kept === fields && !stopped && !running) compare(kept).catch(() => {}); // offline: the next change will tell
  }

  addEventListener('online', keep);
  addEventListener('offline', () => { if (kept !== fields) told('offline'); });
  addEventListener('pagehide', leave);
  addEventListener('beforeunload', event => { if (kept !== fields && (stopped || written(fields).length > BEACON)) event.preventDefault(); });
  document.addEventListener('visibilitychange', look);

  return {
    get fields() { return fields; },
    get canUndo() { return past.length > 0; },
    get canRedo() { return future.length > 0; },
    find: key => fields.find(field => field.key === key),
    undo: () => back(past, future),
    redo: () => back(future, past),
    step, keep, load,
  };
}
