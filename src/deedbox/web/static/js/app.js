// What the pages of those who are signed in share: dialogs, copying, and forms that send themselves when changed.
import { $, all } from './page.js';

document.addEventListener('click', event => {
  const opener = event.target.closest('[data-opens]');
  if (opener) $(`#${CSS.escape(opener.dataset.opens)}`).showModal();
  const closer = event.target.closest('[data-closes]');
  if (closer) closer.closest('dialog').close();
  const copier = event.target.closest('[data-copies]');
  if (copier) copy(copier);
});

async function copy(button) {
  const said = $('#said');
  let told = button.dataset.done;
  try {
    await navigator.clipboard.writeText(button.dataset.copies);
  } catch {
    // Without TLS a browser gives no clipboard: what is marked can be copied by its own keys.
    const shown = button.previousElementSibling;
    if (shown.select) shown.select();
    else getSelection().selectAllChildren(shown);
    told = said.dataset.marked;
  }
  const word = $('span', button);
  word.dataset.before ??= word.textContent; // a second press finds it changed
  word.textContent = said.textContent = told;
  setTimeout(() => { word.textContent = word.dataset.before; said.textContent = ''; }, 4000);
}

// A button that only a script can serve is shown by it.
for (const button of all('[data-copies][hidden], [data-opens][hidden]')) button.hidden = false;
document.addEventListener('live', event => {
  for (const button of all('[data-copies][hidden], [data-opens][hidden]', event.target)) button.hidden = false;
});
document.addEventListener('change', event => {
  if (event.target.closest('[data-sends-itself]')) event.target.form.requestSubmit();
});

// On a phone the parts stand in a row that scrolls: the one that is shown is in view.
const centre = () => {
  for (const row of all('.side nav, .settings > nav')) {
    const here = $('[aria-current]', row);
    if (here) row.scrollLeft = here.offsetLeft - row.offsetLeft - (row.clientWidth - here.offsetWidth) / 2;
  }
};
centre();
addEventListener('resize', centre);
