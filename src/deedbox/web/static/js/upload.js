// A file for a field: sent at once, with its progress; XMLHttpRequest, because fetch tells none.
import { $, filled } from './page.js';
import { form } from './fields.js';

export function uploads(step, words, { changed, wrong, said }) {
  const { element: root } = step, input = $('input[type=file]', root), bar = $('progress', root);
  const address = `${form.getAttribute('action')}/attachments/${input.id}`;
  const name = $('.given', root), remove = $('[data-remove]', root);
  let going = null;

  function shown(file) {
    if (file) root.dataset.file = file; else delete root.dataset.file;
    if (!file && document.activeElement === remove) input.focus(); // before it is hidden
    name.textContent = file;
    name.hidden = remove.hidden = !file;
    changed();
  }
  function sent(file) {
    const asked = new XMLHttpRequest(), body = new FormData();
    going?.abort(); // another file is sent in its place
    going = asked;
    body.append('file', file);
    asked.open('PUT', address);
    asked.responseType = 'json';
    asked.upload.addEventListener('progress', event => { bar.value = event.loaded / event.total; });
    asked.addEventListener('loadend', () => {
      if (going !== asked) return;
      going = null;
      bar.hidden = true;
      input.value = '';
      if (asked.status >= 200 && asked.status < 300) shown(asked.response.name), said(filled(words.uploaded, { file: asked.response.name }));
      else wrong(step, asked.response?.error ?? words.upload_failed);
    });
    bar.value = 0;
    bar.hidden = false;
    asked.send(body);
  }

  $('[data-plain]', root).hidden = true; // the way without script
  input.addEventListener('change', () => { if (input.files[0]) sent(input.files[0]); });
  remove.addEventListener('click', async event => {
    event.preventDefault();
    const answer = await fetch(address, { method: 'DELETE' }).catch(() => null);
    if (answer?.ok) shown('');
    else wrong(step, words.upload_failed);
  });
}
