// Signing in a page of yours, docs/how-to/embed.md:
//   <script src="https://deedbox.example.com/static/embed.js"></script>
//   const signing = Deedbox.sign(element, url, { onopened, onsigned, ondeclined, onclosed, title, height });
//   signing.close();
// `url` is the link that POST /api/v1/documents/{id}/signers/{signer_id}/link has given your server.
(() => {
  "use strict";
  const EVENTS = ["opened", "signed", "declined", "closed"];
  const LEAST = 320; // pixels: a card with a button
  const PART = 0.9; // of the window's height: the page around stays in sight

  function sign(element, url, options = {}) {
    const address = new URL(url, document.baseURI);
    if (!/^https?:$/.test(address.protocol)) throw new TypeError("Deedbox.sign: the link must begin with https:");
    const frame = document.createElement("iframe");
    const told = new Set();
    let wanted = null;

    function fit() {
      const room = Math.max(LEAST, Math.round(window.innerHeight * PART));
      const height = wanted === null ? room : Math.max(LEAST, Math.min(wanted, room));
      frame.style.height = options.height ?? `${height}px`;
    }

    function tell(name) {
      if (told.has(name)) return; // a page that is loaded again says so again
      told.add(name);
      options[`on${name}`]?.();
    }

    function close() {
      window.removeEventListener("message", hear);
      window.removeEventListener("resize", fit);
      frame.remove();
      tell("closed");
    }

    function hear(event) {
      // Whatever did not come from this very frame, showing that very server, is someone else's message.
      if (event.source !== frame.contentWindow || event.origin !== address.origin) return;
      const { deedbox: name, height } = Object(event.data);
      if (name === "size") {
        wanted = Number.isFinite(height) ? height : null;
        fit();
      } else if (name === "closed") close();
      else if (EVENTS.includes(name)) {
        if (name === "opened") frame.scrollIntoView({ block: "nearest" });
        tell(name);
      }
    }

    frame.title = options.title ?? "Read and sign";
    frame.referrerPolicy = "no-referrer";
    frame.style.display = "block";
    frame.style.width = "100%";
    frame.style.boxSizing = "border-box";
    frame.setAttribute("frameborder", "0"); // which a stylesheet of yours may change
    fit();
    window.addEventListener("message", hear);
    window.addEventListener("resize", fit);
    frame.src = address.href;
    element.replaceChildren(frame);
    return { frame, close };
  }

  window.Deedbox = Object.freeze({ sign });
})();
