// Parts of a page that keep themselves up to date: data-live="name" asks the page for the block of that name. Where a
// page answers a form, the address is that of the form: it names its own then (data-page).
// Every second while something is under way (data-live-busy in it), else every ten or as often as it says
// (data-live-every); never in a hidden tab, nor while someone is at work inside. data-live="at:name" shows nothing: it asks
// only whether that is still the state of the page. The one place that makes HTML of text: what the same server has rendered and escaped.
const BUSY = 1000;
const IDLE = 10000;
const policy = self.trustedTypes?.createPolicy("deedbox", { createHTML: (text) => text }) ?? { createHTML: (text) => text };
const etags = new WeakMap();
const channel = new BroadcastChannel("deedbox"); // what other tabs of this browser tell

const busy = (part) => part.matches("[data-live-busy]") || part.querySelector("[data-live-busy]") !== null;
// A press on the text of a dialog takes the focus away from it, and it is open all the same.
const inUse = (part) =>
  (part.contains(document.activeElement) && document.activeElement !== document.body) || part.querySelector("dialog[open]") !== null;

const own = () => document.body.dataset.page;

export function put(part, text) {
  const written = [...part.querySelectorAll("textarea[id]")].filter((one) => one.value);
  part.innerHTML = policy.createHTML(text);
  for (const { id, value } of written) {
    const again = part.querySelector(`#${CSS.escape(id)}`);
    if (again) again.value = value; // typed in a dialog that was closed meanwhile
  }
  part.dispatchEvent(new CustomEvent("live", { bubbles: true }));
}

// What the server says of a part: "same", "new" with its text, or "over", where this page is another by now.
async function ask(part) {
  const headers = { "X-Part": part.dataset.live };
  if (etags.has(part)) headers["If-None-Match"] = etags.get(part);
  const answer = await fetch(own() ?? location.href, { headers, cache: "no-store", redirect: "manual" });
  const etag = answer.headers.get("ETag");
  if (answer.status === 304) {
    etags.set(part, etag); // it may have been rendered again without a difference
    return { said: "same" };
  }
  if (answer.type === "opaqueredirect" || [401, 403, 404, 409, 410].includes(answer.status)) return { said: "over" };
  if (!answer.ok) throw new Error(`answered ${answer.status}`);
  return { said: "new", text: await answer.text(), etag };
}

function take(part, { said, text, etag }) {
  if (said !== "new" || inUse(part)) return said === "new" ? "same" : said;
  etags.set(part, etag);
  put(part, text);
  return said;
}

export async function refresh(part) {
  return take(part, await ask(part));
}

const parts = [...document.querySelectorAll("[data-live]")];

function watch(part) {
  let timer = 0;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(look, busy(part) ? BUSY : IDLE);
  };
  async function look() {
    if (document.hidden || inUse(part)) return later();
    try {
      const first = await ask(part);
      // When one part is new, all others are asked before any is shown: the parts of a page change together.
      const others = first.said === "new" ? parts.filter((other) => other !== part && !inUse(other)) : [];
      const answers = await Promise.all(others.map(ask));
      const said = [take(part, first), ...others.map((other, at) => take(other, answers[at]))];
      if (said.includes("over")) return own() ? location.replace(own()) : location.reload();
    } catch {
      // Offline, or the server is starting again: the next look will tell.
    }
    later();
  }
  document.addEventListener("visibilitychange", () => document.hidden || look());
  part.addEventListener("live", later); // renewed by another script: it may be busy now
  later();
}

for (const part of parts) watch(part);
