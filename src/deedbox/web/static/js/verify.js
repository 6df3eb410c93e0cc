// A file dropped on the page is a file chosen in its form. Where the page knows what was sealed, the file's SHA-256 is
// compared here, in the browser; it is sent only when its owner presses the button.
import { dropped, hold } from "./chosen.js";
import { closing } from "./page.js";

const form = document.querySelector("[data-drop]");
const hex = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

async function compare(file) {
  const known = (form.dataset.sealed ?? "").split(" ").filter(Boolean);
  const told = form.querySelector("[data-told]");
  if (!known.length || !crypto.subtle || file.size > Number(form.dataset.most)) return;
  const mine = hex(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
  if (form.file.files[0] !== file) return;
  const same = known.includes(mine);
  told.querySelector("code").textContent = mine;
  told.querySelector(`[data-same="${same ? "yes" : "no"}"]`).hidden = told.querySelector("[data-mine]").hidden = false;
}

function chosen() {
  const [file] = form.file.files;
  // The region stays: what appears in it is read out.
  for (const part of form.querySelectorAll("[data-told] p")) part.hidden = true;
  if (file) compare(file);
}

closing(document.querySelector(".menu"));
form?.file.addEventListener("change", chosen);
if (form) dropped(form, (files) => {
  hold(form.file, files.slice(0, 1));
  chosen();
});

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
    button.lastChild.textContent = button.dataset.copied;
  });
}
