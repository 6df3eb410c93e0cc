// What stands in the signer's fields: the form is the truth, and this reads it.
import { $, all } from './page.js';

export const form = $('#sheet');
const language = form.dataset.language;
const parts = new Intl.NumberFormat(language).formatToParts(-12345.6);
const sign = kind => parts.find(part => part.type === kind)?.value ?? '';
const escaped = text => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const GROUPED = new RegExp(`^[+-]?\\d{1,3}(${escaped(sign('group'))}\\d{3})+(${escaped(sign('decimal'))}\\d+)?$`);

// A number without the signs between its groups, which other languages take for decimals.
const ungrouped = text => GROUPED.test(text) ? text.replaceAll(sign('group'), '') : text;
const day = text => new Date(`${text}T12:00`).toLocaleDateString(language, { dateStyle: 'long' });
const isTick = input => input.type === 'checkbox' || (input.type === 'radio' && !isOption(input));
// Whether it is a button of a radio field that has all its options: such a field holds the option that is chosen.
const isOption = input => input.type === 'radio' && input.closest('.step').dataset.kind === 'options';
const chosen = input => all('input', input.closest('.step')).find(one => one.checked)?.value ?? '';

// What a field holds, as it is sent to be kept.
export function given(input) {
  if (isTick(input)) return String(input.checked);
  if (isOption(input)) return chosen(input);
  const text = input.value.trim();
  return input.inputMode === 'decimal' ? ungrouped(text) : text;
}

// What a field holds, as conditions name it.
function held(id) {
  const input = document.getElementById(id);
  if (isTick(input)) return String(input.checked);
  if (input.dataset.value !== undefined) return input.dataset.value;
  const text = given(input) || input.dataset.own || '';
  return input.inputMode === 'decimal' ? text.replace(sign('decimal'), '.') : text;
}

// What a field holds, as people read it.
function said(input) {
  if (input.type === 'checkbox') return input.checked ? '✓' : '';
  const text = input.value.trim() || input.dataset.own || '';
  return input.type === 'date' && text ? day(text) : text;
}

class Step {
  constructor(element) {
    this.element = element;
    this.kind = element.dataset.kind;
    this.boxes = JSON.parse(element.dataset.boxes);
    this.document = element.dataset.document;
    this.isRequired = 'required' in element.dataset;
    this.isFixed = 'fixed' in element.dataset;
    this.seen = false;
    this.hand = null; // of a signature or initials
  }
  get controls() { return all('input:not([type=hidden]), select', this.element); }
  get name() { return $('.ask', this.element).dataset.name; }
  isIn(document) { return this.document === document || this.boxes.some(box => box.document === document); }
  get isShown() { return !this.boxes.length || this.boxes.some(isShown); }

  // What stands in it; of a group of radio buttons, the one that is chosen.
  get said() {
    if (this.hand) return this.hand.said();
    if (this.kind === 'read') return this.seen ? '✓' : '';
    if (this.kind === 'attachment') return this.element.dataset.file ?? '';
    const [first] = this.controls;
    if (first?.type !== 'radio') return first ? said(first) : '';
    return this.controls.find(one => one.checked)?.dataset.label ?? '';
  }
  // What stands in one of its boxes.
  inBox(box) {
    if (this.kind !== 'radio') return this.said;
    return document.getElementById(box.id).checked ? '✓' : '';
  }
  get isFilled() { return Boolean(this.said) && (!this.hand || this.hand.isReady()); }
  // Whether there is nothing more to do in it; an approval is done by its press alone.
  get isDone() { return this.kind !== 'approve' && (this.isFixed || (this.isFilled && (!this.hand || this.seen)) || (!this.isRequired && this.seen)); }
}

export const steps = all('.step', form).map(element => new Step(element));
const boxes = new Map(steps.flatMap(step => step.boxes).map(box => [box.id, box]));

// Whether the condition of a field holds; one of a field that others fill was decided by the server.
export function isShown(box) {
  if (!box.if) return true;
  const decides = boxes.get(box.if[0]);
  return !decides || (isShown(decides) && held(decides.id) === box.if[1]);
}

// Shows the fields whose condition holds; those that are hidden are not sent.
export function settle() {
  for (const step of steps) {
    step.element.disabled = !step.isShown;
    if (step.kind !== 'radio') continue;
    for (const box of step.boxes) {
      const choice = document.getElementById(box.id);
      choice.closest('label').hidden = !isShown(box);
      choice.disabled = !isShown(box) || 'fixed' in choice.dataset;
    }
  }
}
