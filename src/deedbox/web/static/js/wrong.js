// What is wrong with a form that a script has sent: each message beside its field, as the page without script has it.
import { $, all, made } from './page.js';

const SAID = '[data-said]';

export function forget(form) {
  for (const told of all(SAID, form)) {
    for (const box of all(`[aria-describedby~="${CSS.escape(told.id)}"]`, form)) {
      box.removeAttribute('aria-invalid');
      const others = box.getAttribute('aria-describedby').split(' ').filter(id => id !== told.id);
      if (others.length) box.setAttribute('aria-describedby', others.join(' '));
      else box.removeAttribute('aria-describedby');
    }
    told.remove();
  }
}

// `wrong` has sentences by the names of fields; what belongs to none stands at the head of the form.
export function tell(form, wrong) {
  for (const [name, text] of Object.entries(wrong)) {
    const box = field(form, name), rows = $(`[data-rows="${CSS.escape(name)}"]`, form);
    const told = made('p', { class: box || rows ? 'wrong' : 'note bad', role: 'alert', id: `wrong-${name}`, 'data-said': '' }, sign(form), made('span', { dir: 'auto' }, text));
    if (box) beside(box, told);
    else if (rows) rows.before(told);
    else form.prepend(told);
  }
  const first = $(`[aria-invalid=true], ${SAID}`, form);
  if (!first) return;
  if (first.matches(SAID)) first.tabIndex = -1;
  first.focus();
}

function beside(box, told) {
  const details = box.closest('details');
  if (details) details.open = true;
  (box.closest('[data-row]') ?? box.closest('.field')).append(told);
  box.setAttribute('aria-invalid', 'true');
  box.setAttribute('aria-describedby', [box.getAttribute('aria-describedby'), told.id].filter(Boolean).join(' '));
}

// The server counts only rows in which a name or an address stands: `people.0` is the first of those.
function field(form, name) {
  const [, list, number, last] = /^(.+)\.(\d+)\.(\w+)$/.exec(name) ?? [];
  const rows = list && $(`[data-rows="${CSS.escape(list)}"]`, form);
  if (!rows) return $(`[name="${CSS.escape(name)}"]:not([type=hidden])`, form);
  const typed = all('[data-row]', rows).filter(row => all('[name$=".name"], [name$=".email"]', row).some(box => box.value.trim()));
  return typed[number] && $(`[name$=".${last}"]:not([type=hidden])`, typed[number]);
}

const sign = form => $('[data-drop] [role=alert] .icon', form).cloneNode(true);
