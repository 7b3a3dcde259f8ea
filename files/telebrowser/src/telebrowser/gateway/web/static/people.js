// What the pages for people do beyond plain forms: keep a part of the page fresh, show the view, show a picture.
const part = document.getElementById("part");
const said = document.getElementById("said");
const told = document.getElementById("told");

// The gateway tells something every five seconds; when it does not, the line is cut, which no event would tell for minutes.
const SILENT = 12000;
const LONGEST_WAIT = 8000;
const LOST = "The connection is lost; trying again \u2026";
let waits = 1000;
let silence;

function follow() {
  const source = new EventSource(part.dataset.events);
  const lost = () => { clearTimeout(silence); source.close(); again(); };
  const heard = () => { clearTimeout(silence); silence = setTimeout(lost, SILENT); waits = 1000; if (said.textContent === LOST) said.textContent = ""; };
  source.addEventListener("here", heard);
  source.addEventListener("part", (event) => { heard(); fresh(event.data); });
  source.addEventListener("over", () => { clearTimeout(silence); source.close(); location.reload(); });
  source.addEventListener("error", lost);
  silence = setTimeout(lost, SILENT);
}

async function again() {
  said.textContent = LOST;
  await new Promise((done) => setTimeout(done, waits));
  waits = Math.min(waits * 2, LONGEST_WAIT);
  let status = 0;
  const answer = new AbortController();
  const late = setTimeout(() => answer.abort(), LONGEST_WAIT);
  try {
    status = (await fetch(part.dataset.events, { signal: answer.signal, cache: "no-store" })).status;
  } catch {
    // It stays 0.
  }
  clearTimeout(late);
  answer.abort();
  if (status === 200) { follow(); renew(); }
  else if (status >= 400 && status < 500) location.reload();
  else again();
}

function fresh(text) {
  const focused = part.contains(document.activeElement) ? document.activeElement.id : "";
  const pictures = [...part.querySelectorAll("img[data-of]")];
  part.innerHTML = text;
  for (const picture of pictures) document.getElementById(picture.dataset.of)?.closest("article").append(picture);
  if (focused) document.getElementById(focused)?.focus();
  controlled();
  announce();
}

// What a screen reader says: only what matters of what has changed, not that another five seconds have passed.
const news = () => [...part.querySelectorAll("[data-tell]")].map((each) => each.textContent.trim()).join(" ");
let known = part ? news() : "";
function announce() {
  const now = news();
  if (now !== known) told.textContent = known = now;
}

// A button that is switched off would lose the focus of who pressed it by a key.
async function once(button, work) {
  if (button.getAttribute("aria-disabled") === "true") return;
  button.setAttribute("aria-disabled", "true");
  said.textContent = "";
  try {
    await work();
  } catch (error) {
    said.textContent = error.message;
    if (error.code === "HANDOFF_OPEN") { takeButton.textContent = "Take over"; takeButton.dataset.force = "yes"; }
  } finally {
    button.removeAttribute("aria-disabled");
  }
}

// A gateway that has been started anew knows no view of before; the person's cookie is still good for another one. A desktop's connection that
// hung on the lost line would find out in minutes only, while the view of a tab sees to that itself.
async function renew() {
  const frame = view?.querySelector("iframe");
  if (!frame) return;
  try {
    if ((await fetch(frame.src, { cache: "no-store" })).status !== 403) {
      if (frame.contentDocument && !frame.contentWindow.followsTheLine) reload(frame);
      return;
    }
    await open(frame.dataset.role === "controller" ? view.dataset.take : view.dataset.watch, { form, quietly: document.activeElement === frame ? "" : "yes" });
  } catch (error) {
    said.textContent = error.message;
  }
}

function reload(frame) {
  if (document.activeElement === frame) frame.addEventListener("load", () => frame.focus(), { once: true });
  frame.contentWindow.location.reload();
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
const form = document.querySelector("input[name=form]")?.value;
const watchButton = document.getElementById("watch");
// Why the tab stands in for the desktop; it stays until a view comes that is what was asked for.
const instead = document.getElementById("instead");

function controlled() {
  const control = part.querySelector("[data-control]")?.dataset.control;
  const frame = view?.querySelector("iframe");
  // The view of somebody who lost control shows nothing any more.
  if (frame?.dataset.role !== "controller" || control !== "other") return;
  const focused = document.activeElement === frame;
  frame.remove();
  instead.textContent = "";
  document.getElementById("way-out").hidden = true;
  takeButton.textContent = "Take over";
  takeButton.dataset.force = "yes";
  if (focused) takeButton.focus();
}

// The view takes every key, also Tab: Escape and then Tab lead back to this page, whatever the view is.
function leadOut(frame) {
  const wayOut = document.getElementById("way-out");
  wayOut.hidden = !frame.contentDocument || frame.dataset.role !== "controller";
  if (wayOut.hidden) return;
  // A frame in which the focus is matches neither :focus nor :focus-within.
  const mark = () => frame.classList.toggle("keys", frame.contentDocument.hasFocus());
  for (const event of ["focus", "blur"]) frame.contentWindow.addEventListener(event, mark);
  mark();
  let escaped = false, pointed = false;
  frame.contentWindow.addEventListener("pointerdown", () => { escaped = false; pointed = true; }, true);
  frame.contentWindow.addEventListener("keydown", (event) => {
    pointed = false;
    if (event.key === "Shift") return;
    if (event.key === "Tab" && escaped) {
      event.preventDefault();
      event.stopImmediatePropagation();
      (event.shiftKey ? watchButton : document.getElementById("note")).focus();
    }
    escaped = event.key === "Escape";
  }, true);
  // Who comes back by Tab would land in menus of Selkies' page that are out of sight, where keys do nothing: the picture is what they come for.
  frame.contentWindow.addEventListener("blur", () => { pointed = false; });
  frame.contentDocument.addEventListener("focusin", (event) => {
    if (event.relatedTarget === null && !pointed) frame.contentDocument.getElementById("overlayInput")?.focus();
  });
}

async function open(address, fields) {
  // Without TLS, and not on localhost, browsers cannot show every view; the gateway then gives one that they can.
  const grant = await (await ask(address, { ...fields, secure: isSecureContext ? "yes" : "no" })).json();
  const frame = view.querySelector("iframe") ?? document.createElement("iframe");
  instead.textContent = grant.instead;
  frame.title = grant.role === "controller" ? "The browser; you control it" : "The browser; you only see it";
  frame.dataset.role = grant.role;
  frame.allow = "clipboard-read; clipboard-write";
  frame.onload = () => leadOut(frame);
  frame.src = grant.url;
  if (!frame.isConnected) view.append(frame);
  if (fields.quietly !== "yes") frame.focus();
  takeButton.textContent = grant.role === "controller" ? "Open it again" : "Take control";
  delete takeButton.dataset.force;
}

if (view) {
  takeButton.addEventListener("click", () => once(takeButton, () => open(view.dataset.take, { form, force: takeButton.dataset.force ?? "" })));
  watchButton.addEventListener("click", () => once(watchButton, () => open(view.dataset.watch, { form })));
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-picture]");
  if (button) once(button, () => show(button));
});

async function show(button) {
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
}

if (part) follow();
