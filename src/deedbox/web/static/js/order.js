// Rows that change places: by buttons (data-up, data-down), and by dragging where there is a mouse.
// `changed(row)` follows every move; rows may go from one list to another of the same kind.
let dragged = null;

export function moved(row, step) {
  const other = step < 0 ? row.previousElementSibling : row.nextElementSibling;
  if (!other) return false;
  if (step < 0) other.before(row); else other.after(row);
  return true;
}

export function draggable(root, row, list, changed) {
  // Only by its grip: elsewhere in a row people mark text.
  root.addEventListener('pointerdown', event => {
    const held = event.target.closest('.grip')?.closest(row);
    for (const one of root.querySelectorAll(row)) one.draggable = one === held;
  });
  root.addEventListener('dragstart', event => {
    if (event.target.nodeType !== 1 || !event.target.matches(row)) return;
    event.stopPropagation(); // of rows within rows, the inner one goes
    dragged = event.target;
    event.dataTransfer.effectAllowed = 'move';
    event.dataTransfer.setData('text/plain', '');
    dragged.classList.add('dragged');
  });
  root.addEventListener('dragover', event => {
    if (!dragged?.matches(row)) return;
    const place = event.target.closest(list);
    if (!place || dragged.contains(place)) return;
    event.preventDefault();
    const over = event.target.closest(row);
    if (over === dragged) return;
    if (!over || !place.contains(over)) return place.append(dragged);
    const { top, height } = over.getBoundingClientRect();
    if (event.clientY < top + height / 2) over.before(dragged); else over.after(dragged);
  });
  root.addEventListener('drop', event => { if (dragged?.matches(row)) event.preventDefault(); });
  root.addEventListener('dragend', event => {
    if (dragged !== event.target) return;
    dragged.classList.remove('dragged');
    dragged.draggable = false;
    const row = dragged;
    dragged = null;
    changed(row);
  });
}
