// What every page's script shares.
export const $ = (query, from = document) => from.querySelector(query);
export const all = (query, from = document) => [...from.querySelectorAll(query)];

// An element with its attributes and children: text or other elements.
export function made(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === 'class') element.className = value;
    else if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

// A sentence with its {names} filled in.
export const filled = (sentence, values) => sentence.replace(/\{(\w+)\}/g, (_, name) => values[name]);

// A menu made of <details> closes by Escape, which gives its focus back, and by a press beside it.
export function closing(menu) {
  menu.addEventListener('keydown', event => {
    if (event.key !== 'Escape' || !menu.open) return;
    menu.open = false;
    $('summary', menu).focus();
  });
  document.addEventListener('pointerdown', event => {
    if (!menu.contains(event.target)) menu.open = false;
  });
}

// What this tab remembers: nothing where a browser gives a frame of another site no storage.
export const memory = (() => {
  try {
    return self.sessionStorage;
  } catch {
    return { getItem: () => null, setItem: () => {}, removeItem: () => {} };
  }
})();
