// "Send again" waits until another code may be mailed. Without this the server refuses, and says for how long.
const again = document.querySelector("[data-wait]");
const name = again.textContent;
const end = Date.now() + 1000 * Number(again.dataset.wait);

function tick() {
  const left = Math.ceil((end - Date.now()) / 1000);
  again.disabled = left > 0;
  again.textContent = left > 0 ? again.dataset.waiting.replace("{seconds}", left) : name;
  if (left > 0) setTimeout(tick, 250);
}

tick();
