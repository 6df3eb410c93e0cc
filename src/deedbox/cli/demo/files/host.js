// The host page of the demo: asks its own server for a link, opens it in a frame, and shows what the frame tells.
const button = document.getElementById("sign");
const events = document.getElementById("events");
const problem = document.getElementById("problem");

function heard(name) {
  const row = document.createElement("li");
  row.textContent = name;
  events.append(row);
}

async function begin() {
  button.disabled = true;
  problem.hidden = true;
  try {
    const answer = await fetch(button.dataset.link, { method: "POST" });
    if (!answer.ok) throw new Error(await answer.text());
    const { url } = await answer.json();
    Deedbox.sign(document.getElementById("signing"), url, {
      title: "Agreement on confidentiality",
      onopened: () => heard("opened"),
      onsigned: () => heard("signed"),
      ondeclined: () => heard("declined"),
      onclosed: () => {
        heard("closed");
        button.disabled = false;
        button.parentElement.hidden = false;
      },
    });
    button.parentElement.hidden = true;
  } catch (error) {
    problem.textContent = `The agreement cannot be opened: ${error.message}`;
    problem.hidden = false;
    button.disabled = false;
  }
}

button.addEventListener("click", begin);
