// Shows a desktop by noVNC, and sends back what the person does there.
const stage = document.getElementById("stage");
const said = document.getElementById("said");
const size = document.getElementById("size");
const box = document.getElementById("box");
const words = document.getElementById("words");
const acts = document.body.dataset.acts === "yes";
const CONTROL = 0xffe3, ALT = 0xffe9, V = 0x76;
const { default: RFB } = await import(new URL("novnc/core/rfb.js", location.href));
let screen;
let waits = 500;

function connect() {
  const address = new URL("socket", location.href);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  screen = new RFB(stage, address.href, { shared: true });
  screen.viewOnly = !acts;
  screen.background = "transparent";
  if (acts) reachable(stage.querySelector("canvas"));
  fit();
  screen.addEventListener("connect", () => { said.textContent = acts ? "" : "You only watch."; waits = 500; if (acts) screen.focus(); });
  screen.addEventListener("disconnect", lost);
  screen.addEventListener("clipboard", copied);
}

// For who comes by Tab; noVNC itself takes a click only.
function reachable(canvas) {
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-label", "The screen; what you type goes there");
}

async function lost() {
  said.textContent = "The connection is lost; trying again …";
  const status = await fetch(location.href, { cache: "no-store" }).then((answer) => answer.status, () => 0);
  if (status === 403) { said.textContent = "This view is closed."; return; }
  setTimeout(connect, waits);
  waits = Math.min(waits * 2, 8000);
}

// The screen keeps its size: agents know their pages by it. It is shown smaller, or in parts that are dragged into sight.
function fit() {
  const real = size.getAttribute("aria-pressed") === "true";
  screen.scaleViewport = !real;
  screen.clipViewport = real;
  screen.dragViewport = real && matchMedia("(pointer: coarse)").matches;
}
size.addEventListener("click", () => { size.setAttribute("aria-pressed", String(size.getAttribute("aria-pressed") !== "true")); fit(); });

// Key events know no composed text, and of the person's clipboard nothing comes by them: text goes by the clipboard, then is pasted.
function paste(text) {
  screen.clipboardPasteFrom(text);
  screen.sendKey(ALT, "AltLeft", false);
  screen.sendKey(CONTROL, "ControlLeft", true);
  screen.sendKey(V, "KeyV", true);
  screen.sendKey(V, "KeyV", false);
  screen.sendKey(CONTROL, "ControlLeft", false);
}

function copied(event) {
  words.value = event.detail.text;
  // Only where the person's browser lets pages do so.
  navigator.clipboard?.writeText(event.detail.text).catch(() => {});
}

if (acts) {
  document.getElementById("text").addEventListener("click", () => { box.showModal(); words.select(); });
  box.addEventListener("close", () => {
    // What was sent may be a password.
    if (box.returnValue === "yes" && words.value) { paste(words.value); words.value = ""; }
    screen.focus();
  });
  // The person's own paste key: noVNC would send the key alone.
  addEventListener("keydown", (event) => {
    if (!box.open && (event.ctrlKey || event.metaKey) && event.code === "KeyV") event.stopImmediatePropagation();
  }, true);
  addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text/plain");
    if (box.open || !text) return;
    event.preventDefault();
    paste(text);
  });
}

connect();
