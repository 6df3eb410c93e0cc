// Inside a frame: tells the page around it, if it is of a site that the workspace names, what happens here.
const EDGE = 16; // pixels below a card
const around = document.querySelector("[data-sites]");
const closing = document.querySelector("[data-close]");
const elsewhere = document.querySelector("[data-elsewhere]");

// Where the browser says whose page it is, the others are left out; it delivers to none but the named one anyway.
function listeners() {
  const sites = around.dataset.sites.split(" ");
  const parent = window.location.ancestorOrigins?.[0];
  return parent ? sites.filter((site) => site === parent) : sites;
}

function tell(message) {
  for (const site of listeners()) window.parent.postMessage(message, site);
}

// A card is as high as what it says; the signing screen takes what there is.
function size() {
  const end = document.querySelector("main").getBoundingClientRect().bottom + window.scrollY;
  tell({ deedbox: "size", height: around.dataset.told === "opened" ? null : Math.ceil(end) + EDGE });
}

// Without cookies the session could not begin, and the link would be used up.
function keepsCookies() {
  return ["SameSite=None; Secure; Partitioned", "SameSite=Lax"].some((how) => {
    document.cookie = `deedbox_try=1; Path=/; ${how}`;
    const kept = document.cookie.includes("deedbox_try=1");
    document.cookie = `deedbox_try=; Path=/; Max-Age=0; ${how}`;
    return kept;
  });
}

function begin() {
  document.documentElement.classList.add("framed");
  const opening = document.querySelector("form[action^='/s/']");
  if (opening && !keepsCookies()) {
    opening.hidden = true;
    elsewhere.hidden = false;
    elsewhere.querySelector("a").href = window.location.href;
  }
  if (["signed", "declined", "over"].includes(around.dataset.told)) closing.hidden = false;
  closing.addEventListener("click", () => tell({ deedbox: "closed" }));
  size();
  new ResizeObserver(size).observe(document.querySelector("main"));
  if (around.dataset.told && around.dataset.told !== "over") tell({ deedbox: around.dataset.told });
}

if (around && window.parent !== window) begin();
