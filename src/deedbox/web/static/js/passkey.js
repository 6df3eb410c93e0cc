// Passkeys: asks the server what to ask, then the browser, and sends the answer with the form that is there.
import { $, all } from './page.js';

const bytes = text => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), letter => letter.charCodeAt(0));
const text = buffer => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');

// What the browser takes, of what JSON can say.
function question(options) {
  const listed = credentials => (credentials || []).map(one => ({ ...one, id: bytes(one.id) }));
  const made = { ...options, challenge: bytes(options.challenge) };
  if (options.user) made.user = { ...options.user, id: bytes(options.user.id) };
  if (options.excludeCredentials) made.excludeCredentials = listed(options.excludeCredentials);
  if (options.allowCredentials) made.allowCredentials = listed(options.allowCredentials);
  return made;
}

// And the other way round.
function answer(credential) {
  const response = {};
  for (const name of ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle']) {
    if (credential.response[name]) response[name] = text(credential.response[name]);
  }
  return JSON.stringify({ id: credential.id, rawId: text(credential.rawId), type: credential.type, response });
}

async function ask(form) {
  const wrong = $('[role=alert]', form), kind = form.dataset.passkey;
  wrong.hidden = true;
  try {
    const asked = await fetch(form.dataset.options, { method: 'POST', body: new URLSearchParams(new FormData(form)) });
    const told = await asked.json();
    if (!asked.ok) throw new Error(told.error);
    const credential = await navigator.credentials[kind]({ publicKey: question(told) }).catch(() => null);
    if (!credential) throw new Error(form.dataset.failed);
    form.elements.credential.value = answer(credential);
    form.submit();
  } catch (error) {
    wrong.textContent = error.message;
    wrong.hidden = false;
  }
}

// Browsers give passkeys over TLS or at localhost, and to names, not to numbers.
const possible = self.isSecureContext && self.PublicKeyCredential && !/^[\d.]+$|:/.test(location.hostname);
for (const form of all('[data-passkey]')) {
  form.hidden = !possible;
  form.addEventListener('submit', event => {
    event.preventDefault();
    ask(form);
  });
}
for (const sentence of all('[data-passkey-cannot]')) sentence.hidden = Boolean(possible);
