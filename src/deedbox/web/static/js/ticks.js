// Buttons that tick boxes: data-ticks names the values that are to be ticked in the form, and no others.
import { all } from './page.js';

for (const button of all('[data-ticks]')) {
  const wanted = button.dataset.ticks.split(' ');
  const boxes = () => all('input[type=checkbox][name^="scopes."], input[type=checkbox][name^="events."]', button.form);
  const told = () => {
    const ticked = boxes().filter(box => box.checked).map(box => box.value);
    button.setAttribute('aria-pressed', String(ticked.length === wanted.length && wanted.every(one => ticked.includes(one))));
  };
  button.hidden = false;
  button.addEventListener('click', () => {
    for (const box of boxes()) box.checked = wanted.includes(box.value);
    button.form.dispatchEvent(new Event('change'));
  });
  button.form.addEventListener('change', told);
  told();
}
