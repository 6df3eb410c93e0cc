// Signing, step by step: from one field to the next, each with its mark on the page, and at the end one press.
import { $, all, closing, filled, made } from './page.js';
import { form, settle, steps } from './fields.js';
import { hand } from './hand.js';
import { keeper } from './keep.js';
import { marks } from './marks.js';
import { uploads } from './upload.js';
import { zoom } from './zoom.js';

const words = JSON.parse(form.dataset.words);
const last = steps.at(-1), next = $('#next'), back = $('#back'), act = $('#act'), problem = $('#problem'), status = $('#kept');
let now = last, going = false, painted = null, blamed = [], uploaded = false;

const open = () => steps.filter(step => step.isShown && (!step.isFixed || step === last));
const inView = control => control.getClientRects().length > 0;
const lacks = step => step.isRequired && !step.isFilled;

function paint() {
  if (!painted) return;
  settle();
  const shown = open(), at = shown.indexOf(now);
  painted.paint(now);
  for (const step of steps) step.element.hidden = step !== now;
  for (const count of all('[data-count]', now.element)) count.textContent = at < 0 ? '' : filled(words.step, { at: at + 1, all: shown.length });
  $('#last').hidden = now !== last;
  act.hidden = now !== last;
  next.hidden = now === last;
  back.disabled = at === 0;
  const following = after(now);
  next.textContent = following.document && following.document !== now.document ? words.next_document : words.next;
  progress(shown);
  if (now === last) review(shown);
}

function progress(shown) {
  const bar = $('#progress');
  bar.max = shown.length;
  bar.value = shown.filter(step => step.isDone).length;
  for (const link of all('[data-of]')) {
    const own = shown.filter(step => step.isIn(link.dataset.of)), done = own.length > 0 && own.every(step => step.isDone);
    link.toggleAttribute('data-done', done);
    $('.tick', link).hidden = !done;
    if (now.document === link.dataset.of) link.setAttribute('aria-current', 'step'); else link.removeAttribute('aria-current');
  }
}

// What is filled in, each a way back to its field.
function review(shown) {
  const rows = shown.filter(step => step !== last && step.kind !== 'read');
  $('#review').hidden = !rows.length;
  $('#review ul').replaceChildren(...rows.map(step => made('li', {}, made('button', { type: 'button', class: 'row', onclick: () => show(step, true) },
    made('span', { dir: 'auto' }, step.name), made('b', { dir: 'auto' }, step.said || '–')))));
}

// The step that Next leads to: the next one that is not done, from here on and then from the start; else the last.
function after(step) {
  const shown = open(), at = shown.indexOf(step);
  const waiting = one => one !== step && one !== last && !one.isDone;
  return shown.slice(at + 1).find(waiting) ?? (shown.slice(0, Math.max(at, 0)).find(one => waiting(one) && lacks(one)) ?? last);
}

function show(step, moved) {
  if (now !== step) {
    form.scrollTop = 0; // a long step before it may have been scrolled down
    if (uploaded) said('kept'); // what was said of a file belongs to its step
  }
  now = step;
  step.seen = true;
  told('');
  if (step.hand) step.hand.look(); else paint();
  if (!moved) return;
  painted.reveal(step);
  const control = step.controls.find(one => !['radio', 'file'].includes(one.type) && inView(one)) ?? $('.ask', step.element);
  control.focus({ preventScroll: true });
}

// Says what is wrong, and to those who listen, of which controls.
function told(sentence, controls = []) {
  problem.textContent = sentence;
  problem.hidden = !sentence;
  for (const control of blamed) cleared(control, 'problem');
  blamed = controls;
  for (const control of blamed) {
    control.setAttribute('aria-invalid', 'true');
    control.setAttribute('aria-describedby', `${control.getAttribute('aria-describedby') ?? ''} problem`.trim());
  }
}

// Takes from a control what was said of it by the element of this id; its hint stays.
function cleared(control, id) {
  control.removeAttribute('aria-invalid');
  const others = (control.getAttribute('aria-describedby') ?? '').split(' ').filter(one => one && one !== id);
  if (others.length) control.setAttribute('aria-describedby', others.join(' ')); else control.removeAttribute('aria-describedby');
}

// What the server found wrong is no longer said once it is changed.
function mended({ target }) {
  told('');
  const step = steps.find(one => one.element.contains(target));
  for (const old of all(':scope > .wrong:not(#problem)', form)) old.remove();
  if (step) step.element.removeAttribute('aria-invalid');
  for (const old of step ? all('.wrong', step.element) : []) {
    for (const control of step.controls) cleared(control, old.id);
    old.remove();
  }
  paint();
}

// Of a signature, the ways to make it are not what is wrong.
const blame = step => step.controls.filter(one => !step.hand || (one.type !== 'radio' && inView(one)));

function refused(step, sentence, moved = false) {
  if (now !== step) show(step, moved);
  told(sentence, blame(step));
}

// What came to nothing while the signer may be elsewhere already: it takes nobody away from what they do.
function mishap(step, sentence) {
  if (now === step) told(sentence); else status.textContent = `${step.name}: ${sentence}`;
}

// What keeps this step from being passed; empty if nothing does.
function wrong(step) {
  if (step.hand) return step.isFilled ? '' : words[`no_${step.kind}`];
  const bad = step.controls.find(control => !control.disabled && !control.validity.valid);
  if (lacks(step)) return words[`required_${step.kind}`] ?? words.required;
  return bad && !bad.validity.valueMissing ? words[`wrong_${step.kind}`] ?? bad.validationMessage : '';
}

// The mark of what is being filled in stays in view.
function follow(target) {
  if (now.element.contains(target) && target.matches('input, select')) painted?.reveal(now);
}

function forward() {
  const said = wrong(now);
  if (said) return refuse(now, said);
  show(after(now), true);
}

function refuse(step, said) {
  refused(step, said, true);
  step.controls.find(inView)?.focus();
}

// Whether everything is there; if not, it leads to what is missing.
function ready() {
  const missing = open().find(step => wrong(step));
  if (missing) return refuse(missing, wrong(missing)), false;
  const consent = form.elements.consent;
  if (consent.type === 'checkbox' && !consent.checked) return told(words.consent, [consent]), consent.focus(), false;
  if (!navigator.onLine) return told(words.offline_sign), false;
  return true;
}

function submit(event) {
  if (event.submitter?.hasAttribute('formaction') || ['detach', 'language'].includes(event.submitter?.name)) return;
  if (now !== last) return event.preventDefault(), forward();
  if (going || !ready()) return event.preventDefault();
  going = true;
  keep.stop();
  act.setAttribute('aria-disabled', 'true');
  act.textContent = words.going;
}

const keep = keeper((how, sentence, ids) => {
  if (how === 'refused') {
    const step = steps.find(one => one.boxes.some(box => ids.includes(box.id)));
    if (step === now) told(sentence, blame(step));
  }
  const ended = $('#ended');
  if (how === 'over' || how === 'kept') ended.hidden = how === 'kept';
  if (how === 'over') $('span', ended).textContent = sentence;
  said(how);
});

function said(how, sentence = words[how] ?? words.not_kept) {
  uploaded = how === 'uploaded';
  status.toggleAttribute('data-usual', how === 'kept');
  if (status.textContent !== sentence) status.textContent = sentence;
}

function start() {
  form.noValidate = true;
  for (const step of steps) {
    if (step.kind === 'signature' || step.kind === 'initials') step.hand = hand(step, words, { changed: () => { told(''); paint(); }, paint, wrong: mishap });
    if (step.kind === 'attachment' && !step.isFixed) uploads(step, words, { changed: paint, wrong: mishap, said: sentence => said('uploaded', sentence) });
  }
  painted = marks(step => show(step, true));
  for (const each of all('[data-guided]')) each.hidden = false;
  for (const each of all('[data-plain]', form)) each.hidden = true;
  const failed = steps.find(step => $('.wrong', step.element));
  const shown = open(), asked = shown.find(step => step.boxes.some(box => `#${box.id}` === location.hash)); // from the text
  const first = failed ?? asked ?? shown.find(step => step !== last && !step.isDone) ?? last;
  show(first, Boolean(failed ?? asked));
  zoom($('.pages'));
  // Whoever comes back finds the page at what is next; a first look begins at the top, a link from the text at its page.
  if ('resumed' in form.dataset && !document.getElementById(location.hash.slice(1))?.matches('.page')) painted.reveal(first, 'instant');
  closing($('.menu'));
}

form.addEventListener('input', mended);
form.addEventListener('submit', submit);
form.addEventListener('focusin', event => follow(event.target));
addEventListener('resize', () => follow(document.activeElement)); // a keyboard opens
next.addEventListener('click', forward);
back.addEventListener('click', () => { const shown = open(); show(shown[shown.indexOf(now) - 1] ?? shown[0], true); });
for (const link of all('[data-of]')) link.addEventListener('click', () => {
  const step = open().find(one => one.isIn(link.dataset.of));
  if (step) show(step, false);
});
addEventListener('pageshow', event => { if (event.persisted) location.reload(); });
start();
