// The fields as they stand: every change is a step that can be undone, and is kept on the server half a second later.
const DEPTH = 100, PAUSE = 500, AGAIN = 5000, JOINED = 1500, BEACON = 60000; // steps; milliseconds; bytes
const NUMBERS = ['x', 'y', 'w', 'h'];

// A field as it is sent: what says nothing is left out.
const plain = field => Object.fromEntries(Object.entries(field)
  .filter(([, value]) => value != null && value !== '' && !(Array.isArray(value) && !value.length))
  .map(([name, value]) => [name, NUMBERS.includes(name) ? +value.toFixed(5) : value])
  .sort(([one], [other]) => (one < other ? -1 : 1)));
const written = fields => JSON.stringify(fields.map(plain));

// `told` hears how it stands: keeping, kept, offline, again, refused (with why), out, elsewhere. `changed` hears of steps.
export function sketch(path, told, changed) {
  let fields = [], kept = fields, version = 0, past = [], future = [], timer = 0, running = null, stopped = false;
  let last = { token: '', at: 0 };

  const ask = (options = {}) => fetch(path, { cache: 'no-store', redirect: 'manual', headers: { Accept: 'application/json' }, ...options });
  function put(mine, of = version) {
    const body = JSON.stringify({ version: of, fields: mine.map(plain) });
    // Beyond this a browser sends nothing of a page that is being left.
    const keepalive = body.length < BEACON;
    return ask({ method: 'PUT', body, keepalive, headers: { 'Content-Type': 'application/json', Accept: 'application/json' } });
  }

  // Another version by now: our own, whose answer was lost, one with the same fields, or someone else's work.
  async function compare(mine) {
    const answer = await (await ask()).json(), theirs = written(answer.fields);
    if (theirs === written(mine)) kept = mine;
    else if (theirs !== written(kept)) {
      stopped = true;
      told('elsewhere');
    }
    version = answer.version;
  }
  const later = (state, ...more) => { told(state, ...more); timer = setTimeout(keep, AGAIN); return false; };
  async function round() {
    while (kept !== fields && !stopped) {
      const mine = fields;
      try {
        const answer = await put(mine);
        if (answer.type === 'opaqueredirect' || answer.status === 401) return later('out');
        if (answer.status === 429 || answer.status >= 500) return later('again');
        if (answer.status === 409) await compare(mine);
        else if (!answer.ok) return told('refused', (await answer.json()).error), false;
        else [version, kept] = [(await answer.json()).version, mine];
      } catch {
        return later(navigator.onLine ? 'again' : 'offline');
      }
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
    if (kept === fields || stopped) return;
    for (const of of running ? [version, version + 1] : [version]) put(fields, of).catch(() => {});
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
  // Steps with the same token soon after each other are one: a word is not undone letter by letter.
  function step(next, token = '') {
    if (next === fields) return;
    const now = performance.now(), joins = token && token === last.token && now - last.at < JOINED;
    last = { token, at: now };
    if (!joins) past = [...past, fields].slice(-DEPTH);
    future = [];
    become(next);
  }
  function back(from, to) {
    if (!from.length) return;
    to.push(fields);
    last = { token: '', at: 0 };
    become(from.pop());
  }
  async function load() {
    const answer = await (await ask()).json();
    if (version) past = [...past, fields].slice(-DEPTH); // so that what one had oneself can be had again
    ({ version } = answer);
    fields = kept = answer.fields;
    stopped = false;
    told('kept');
    changed();
  }
  // Whoever comes back to a tab learns of what was done in another.
  async function look() {
    if (document.hidden) return keep();
    if (kept !== fields || stopped || running) return;
    try {
      await compare(kept);
    } catch {
      // Offline: the next change will tell.
    }
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
