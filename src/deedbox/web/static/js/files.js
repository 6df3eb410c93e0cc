// A box for the files of a form: dropped or chosen, listed in their order, sent with their progress. What is refused is
// said beside its file, and nothing that was chosen or typed is lost: the page stays.
import { $, all } from './page.js';
import { dropped, hold, ordered, refuse, rowOf, sent } from './chosen.js';
import { forget, tell } from './wrong.js';

const same = (one, other) => one.name === other.name && one.size === other.size;

function box(root) {
  const input = $('input[type=file]', root), area = $('.drop', root), error = $('[data-error]', root), pattern = $('template', root);
  const chosen = ordered($('.files', root), {
    row: file => rowOf(pattern, file), input, changed: () => { hold(input, chosen.files()); wrong(''); },
  });

  function add(files) {
    if (!input.multiple) chosen.add(files.slice(0, 1), true);
    else chosen.add(files.filter(file => !chosen.files().some(one => same(one, file))));
  }
  // A refusal that begins with the name of a file stands beside it.
  function wrong(said) {
    const beside = chosen.rows().find(row => said.startsWith(`${chosen.file(row).name}: `));
    for (const row of chosen.rows()) refuse(row, row === beside ? said.slice(chosen.file(row).name.length + 2) : '');
    $('span', error).textContent = beside ? '' : said;
    error.hidden = !said || Boolean(beside);
    if (said) input.setAttribute('aria-invalid', 'true');
    else input.removeAttribute('aria-invalid');
  }

  area.classList.add('scripted');
  $('[data-scripted]', area).hidden = false;
  input.addEventListener('change', () => add([...input.files]));
  if (input.files.length) add([...input.files]); // chosen before this script was there
  dropped(area, add);
  return { name: input.name, wrong, bar: $('progress', root), failed: root.dataset.failed };
}

function sends(form, shown) {
  form.addEventListener('submit', async event => {
    event.preventDefault();
    shown.wrong('');
    forget(form);
    const body = new FormData(form, event.submitter), buttons = all('button', form).filter(button => !button.disabled);
    for (const button of buttons) button.disabled = true;
    shown.bar.hidden = false;
    const { taken, answer, at } = await sent(form.action, body, part => { shown.bar.value = part; });
    if (taken) return location.assign(at);
    for (const button of buttons) button.disabled = false;
    shown.bar.hidden = true;
    const said = answer ?? { error: shown.failed }, { [shown.name]: file = '', ...others } = said.wrong ?? {};
    shown.wrong(file);
    tell(form, file || Object.keys(others).length ? others : { '': said.error });
  });
}

for (const root of all('[data-drop]')) sends(root.closest('form'), box(root));
