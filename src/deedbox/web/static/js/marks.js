// Marks on the pages: the picture of what stands in the form, and a way to it.
import { all, made } from './page.js';
import { isShown, steps } from './fields.js';

// Positions are physical: a page reads the same in every language.
function placed(mark, { file, page, at }) {
  ['x', 'y', 'w', 'h'].forEach((name, i) => mark.style.setProperty(`--${name}`, at[i]));
  document.getElementById(`${file}-${page}`).append(mark);
  return mark;
}

// Where the ink of a signature or of initials lies in its mark: as in the sealed file, which leaves room for the line below a signature.
function inked(mark, { file, page, at }, kind) {
  const sheet = document.querySelector(`[id="${file}-${page}"] > img`); // its size is that of the page, in points
  const w = at[2] * sheet.getAttribute('width'), h = at[3] * sheet.getAttribute('height'), signs = kind === 'signature';
  const foot = signs ? Math.min(Math.max(h * .22, 6.5), 9, h * .4) : 0, edge = signs ? Math.min(3, h * .06) : 0;
  for (const [name, share] of [['across', edge / w], ['above', edge / h], ['below', (edge + foot) / h]]) mark.style.setProperty(`--${name}`, `${100 * share}%`);
}

// The circles and labels of a radio field, as they are sealed.
function options({ file, page, options }, said) {
  const sheet = document.querySelector(`[id="${file}-${page}"] > img`);
  const put = (node, at, size) => {
    ['x', 'y', 'w', 'h'].forEach((name, i) => node.style.setProperty(`--${name}`, at[i]));
    node.style.setProperty('--size', size / sheet.getAttribute('width'));
    return node;
  };
  return options.flatMap(({ text, size, circle, label }) => {
    const dot = made('span', { class: 'option dot' });
    dot.toggleAttribute('data-chosen', text === said);
    return [put(dot, circle, size), put(made('span', { class: 'option', dir: 'auto' }, text), label, size)];
  });
}

// The marks of the signer's own fields; a press on one calls `pressed` with its step.
export function marks(pressed) {
  const own = steps.flatMap(step => step.boxes.map((box, i) => {
    const mark = made('button', { type: 'button', class: 'mark', tabindex: -1 });
    if (i === 0 || step.hand) mark.dataset.flag = step.element.dataset.flag;
    mark.toggleAttribute('data-end', box.at[0] > .6);
    mark.toggleAttribute('data-tick', step.kind === 'checkbox' || step.kind === 'radio');
    mark.toggleAttribute('data-options', step.kind === 'options');
    mark.addEventListener('click', () => pressed(step));
    if (step.hand) inked(mark, box, step.kind);
    return { step, box, mark: placed(mark, box) };
  }));
  for (const other of all('[data-other]')) {
    const box = JSON.parse(other.dataset.box), said = other.dataset.other;
    const inside = box.options ? options(box, said) : [made('span', { class: 'text', dir: 'auto' }, said)];
    placed(made('span', { class: 'mark', 'data-state': 'others', 'aria-hidden': 'true' }, ...inside), box);
  }

  function paint(now) {
    for (const { step, box, mark } of own) {
      const said = step.inBox(box);
      mark.hidden = !isShown(box);
      mark.dataset.state = step.isFixed ? 'fixed' : step === now ? 'now' : step.isFilled && (!step.hand || step.seen) ? 'done' : 'todo';
      mark.setAttribute('aria-label', said ? `${step.name}: ${said}` : step.name);
      if (box.options) { mark.replaceChildren(...options(box, said)); continue; }
      const picture = step.hand ? step.seen && step.hand.picture() : said && made('span', { class: 'text', dir: 'auto' }, said);
      mark.replaceChildren(...(picture ? [picture] : []));
    }
  }
  function reveal(step, behavior = 'auto') {
    const first = own.find(each => each.step === step && !each.mark.hidden);
    const target = first?.mark ?? document.getElementById(step.document);
    target?.scrollIntoView({ block: first ? 'center' : 'start', inline: 'nearest', behavior });
  }
  return { paint, reveal };
}
