// The opening card beside the form follows what is typed, before it is saved: the server renders it.
import { $ } from './page.js';
import { put } from './live.js';

const form = $('#branding'), shown = $('#preview'), now = $('#preview-now');
const WAIT = 250;
let timer = 0, asked = 0;

async function follow() {
  const mine = ++asked;
  const body = new URLSearchParams(new FormData(form));
  try {
    const answer = await fetch(now.formAction, { method: 'POST', body, headers: { 'X-Part': 'preview' }, redirect: 'manual' });
    if (!answer.ok) return;
    const text = await answer.text();
    if (mine === asked) put(shown, text); // an answer that was overtaken shows what was typed before
  } catch {
    // Offline: the card stays as it was, and the next change asks again.
  }
}

now.hidden = true;
form.addEventListener('input', event => {
  // Who picks a colour wants it.
  if (event.target.name === 'accent') form.elements.own_accent.checked = true;
  clearTimeout(timer);
  timer = setTimeout(follow, WAIT);
});
