// What the pages for people do beyond plain forms: keep a part of the page fresh, show the view, show a picture.
const part = document.getElementById("part");
const said = document.getElementById("said");

function follow() {
  const source = new EventSource(part.dataset.events);
  source.addEventListener("part", (event) => {
    const focused = part.contains(document.activeElement) ? document.activeElement.id : "";
    const pictures = [...part.querySelectorAll("img[data-of]")];
    part.innerHTML = event.data;
    for (const picture of pictures) document.getElementById(picture.dataset.of)?.closest("article").append(picture);
    if (focused) document.getElementById(focused)?.focus();
    controlled();
  });
  source.addEventListener("over", () => { source.close(); location.reload(); });
}

async function ask(address, fields) {
  const answer = await fetch(address, { method: "POST", body: new URLSearchParams(fields), headers: { Accept: "application/json" } });
  if (answer.ok) return answer;
  const fault = (await answer.json()).error;
  const error = new Error(`${fault.message}. ${fault.hint}`);
  error.code = fault.code;
  throw error;
}

const view = document.querySelector(".view");
const takeButton = document.getElementById("take");
const watchButton = document.getElementById("watch");

function controlled() {
  const control = part.querySelector("[data-control]")?.dataset.control;
  const frame = view?.querySelector("iframe");
  // The view of somebody who lost control shows nothing any more.
  if (frame?.dataset.role === "controller" && control === "other") { frame.remove(); takeButton.textContent = "Take over"; takeButton.dataset.force = "yes"; }
}

async function open(button, address, fields) {
  button.disabled = true;
  said.textContent = "";
  try {
    const grant = await (await ask(address, fields)).json();
    const frame = view.querySelector("iframe") ?? document.createElement("iframe");
    frame.title = grant.role === "controller" ? "The browser; you control it" : "The browser; you only see it";
    frame.dataset.role = grant.role;
    frame.allow = "clipboard-read; clipboard-write";
    frame.src = grant.url;
    view.append(frame);
    frame.focus();
    takeButton.textContent = grant.role === "controller" ? "Open it again" : "Take control";
    delete takeButton.dataset.force;
  } catch (error) {
    said.textContent = error.message;
    if (error.code === "HANDOFF_OPEN") { takeButton.textContent = "Take over"; takeButton.dataset.force = "yes"; }
  } finally {
    button.disabled = false;
  }
}

if (view) {
  const form = document.querySelector("input[name=form]").value;
  takeButton.addEventListener("click", () => open(takeButton, view.dataset.take, { form, force: takeButton.dataset.force ?? "" }));
  watchButton.addEventListener("click", () => open(watchButton, view.dataset.watch, { form }));
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-picture]");
  if (!button) return;
  button.disabled = true;
  said.textContent = "";
  try {
    const blob = await (await ask(button.dataset.picture, { form: button.dataset.form })).blob();
    const reader = new FileReader();
    reader.onload = () => {
      const article = document.getElementById(button.id).closest("article");
      const image = article.querySelector("img") ?? document.createElement("img");
      image.alt = "The selected tab of this browser";
      image.dataset.of = button.id;
      image.src = reader.result;
      article.append(image);
    };
    reader.readAsDataURL(blob);
  } catch (error) {
    said.textContent = error.message;
  } finally {
    button.disabled = false;
  }
});

if (part) follow();
