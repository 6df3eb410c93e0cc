// Rows of a form: one more by a press, made of the last one, its boxes empty and its names counted on.
import { $, all } from './page.js';

for (const root of all('[data-rows]')) {
  const add = $('[data-adds]', root);
  if (!add) continue;
  add.hidden = false;
  add.addEventListener('click', () => {
    const last = all('[data-row]', root).at(-1), row = last.cloneNode(true);
    for (const input of all('[name]', row)) {
      input.name = input.name.replace(root.dataset.rows, '\0').replace(/\d+/, number => Number(number) + 1).replace('\0', root.dataset.rows);
      for (const told of ['aria-invalid', 'aria-describedby']) input.removeAttribute(told);
      if (input.type === 'hidden') input.remove();
      else if (input.tagName === 'SELECT') input.selectedIndex = 0;
      else if (input.type === 'number' && input.name.endsWith('.order')) input.value = Number(input.value) + 1;
      else input.value = '';
    }
    for (const wrong of all('.wrong', row)) wrong.remove();
    last.after(row);
    $('input:not([type=hidden])', row).focus();
  });
}
