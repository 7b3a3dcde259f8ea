// Shows the pictures of the handoff's tab, and sends back what the person does in them.
const stage = document.getElementById("stage");
const canvas = document.getElementById("picture");
const typing = document.getElementById("typing");
const said = document.getElementById("said");
const tabs = document.getElementById("tabs");
const acts = document.body.dataset.acts === "yes";
const draw = canvas.getContext("2d");
const BUTTONS = ["left", "middle", "right", "back", "forward"];
let page = { width: 1, height: 1 };
let socket;
let waits = 500;

function tell(message) {
  if (socket && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

// A line that is cut tells nothing for minutes, so that both sides are asked for a sign of life.
const BEAT = 4000;
const SILENT = 12000;
let heard = 0;
let beaten = 0;
let beat;

function connect() {
  const address = new URL("socket", location.href);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  const own = socket = new WebSocket(address);
  own.binaryType = "blob";
  const lost = () => {
    if (socket !== own) return;
    socket = null;
    own.close();
    clearInterval(beat);
    stage.classList.add("lost");
    said.textContent = "The connection is lost; trying again \u2026";
    setTimeout(connect, waits);
    waits = Math.min(waits * 2, 8000);
  };
  heard = beaten = performance.now();
  clearInterval(beat);
  beat = setInterval(() => {
    const now = performance.now(), late = now - beaten > 2 * BEAT;
    beaten = now;
    // A page in the background is not let run as often; then nothing could have been answered.
    if (!late && now - heard > SILENT) lost();
    else tell({ t: "here" });
  }, BEAT);
  own.addEventListener("open", () => { said.textContent = acts ? "" : "You only watch."; waits = 500; fit(); });
  own.addEventListener("message", (event) => {
    if (socket !== own) return;
    heard = performance.now();
    stage.classList.remove("lost");
    if (typeof event.data === "string") hear(JSON.parse(event.data)); else paint(event.data);
  });
  own.addEventListener("close", (event) => {
    if (event.reason !== "withdrawn" || socket !== own) { lost(); return; }
    clearInterval(beat);
    said.textContent = "This view is closed.";
    draw.clearRect(0, 0, canvas.width, canvas.height);
  });
}

let painting = Promise.resolve();
let painted = 0;
function paint(blob) {
  painting = painting.then(async () => {
    const picture = await createImageBitmap(blob);
    if (canvas.width !== picture.width || canvas.height !== picture.height) { canvas.width = picture.width; canvas.height = picture.height; }
    draw.drawImage(picture, 0, 0);
    picture.close();
    painted += 1;
  }).catch(() => {});
}

function fit() {
  const box = stage.getBoundingClientRect();
  const side = Math.round(Math.max(stage.classList.contains("large") ? page.width : 0, box.width, box.height) * Math.min(devicePixelRatio, 2));
  if (side >= 100) tell({ t: "size", side });
}
new ResizeObserver(fit).observe(stage);

function hear(message) {
  if (message.t === "size") { page = message; stage.style.setProperty("--width", `${page.width}px`); fit(); }
  else if (message.t === "tabs") showTabs(message.tabs);
  else if (message.t === "dialog") showDialog(message);
  else if (message.t === "select") showList(message);
  else if (message.t === "chooser") showChooser(message);
}

function showTabs(all) {
  tabs.hidden = all.length < 2;
  tabs.replaceChildren(...all.map((tab) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = tab.title || "(no title)";
    button.setAttribute("aria-current", String(tab.shown));
    button.disabled = !acts;
    button.addEventListener("click", () => tell({ t: "tab", id: tab.id }));
    return button;
  }));
}

function ask(dialog, done) {
  dialog.returnValue = "no";
  dialog.onclose = () => { done(dialog.returnValue === "yes"); typing.focus({ preventScroll: true }); };
  if (acts) dialog.showModal();
}

const box = document.getElementById("box");
const reply = document.getElementById("reply");
function showDialog(message) {
  if (!message.kind) { box.onclose = null; box.close(); return; }
  document.getElementById("asks").textContent = message.kind === "beforeunload" ? "Leave this page? What was entered may be lost." : message.message;
  reply.hidden = message.kind !== "prompt";
  reply.value = message.text;
  document.getElementById("no").hidden = message.kind === "alert";
  ask(box, (yes) => tell({ t: "dialog", accept: yes || message.kind === "alert", text: reply.value }));
  if (!reply.hidden) reply.focus();
}

const options = document.getElementById("options");
function showList(message) {
  options.replaceChildren(...message.options.map((each, index) => { const option = new Option(each.text, index); option.disabled = each.off; return option; }));
  options.selectedIndex = message.chosen;
  ask(document.getElementById("list"), (yes) => { if (yes && options.selectedIndex >= 0) tell({ t: "choose", index: options.selectedIndex }); });
}

const files = document.getElementById("files");
function showChooser(message) {
  files.value = "";
  files.multiple = message.many;
  ask(document.getElementById("chooser"), async (yes) => {
    const chosen = [...files.files];
    if (!yes || !chosen.length) { tell({ t: "files" }); return; }
    for (const [index, file] of chosen.entries()) {
      said.textContent = `Sending ${file.name} …`;
      const last = index === chosen.length - 1 ? "?last=1" : "";
      const answer = await fetch(`files/${encodeURIComponent(file.name)}${last}`, { method: "PUT", body: file, headers: { Accept: "application/json" } });
      said.textContent = answer.ok ? "" : (await answer.json()).error.message;
      if (!answer.ok) break;
    }
  });
}

const modifiers = (event) => (event.altKey ? 1 : 0) | (event.ctrlKey ? 2 : 0) | (event.metaKey ? 4 : 0) | (event.shiftKey ? 8 : 0);

function at(event) {
  const area = canvas.getBoundingClientRect();
  return { x: (event.clientX - area.x) * page.width / area.width, y: (event.clientY - area.y) * page.height / area.height };
}

const drag = document.getElementById("drag");
drag.addEventListener("click", () => drag.setAttribute("aria-pressed", String(drag.getAttribute("aria-pressed") !== "true")));
document.getElementById("keyboard").addEventListener("click", () => typing.focus({ preventScroll: true }));
document.getElementById("reload").addEventListener("click", () => { tell({ t: "reload" }); typing.focus({ preventScroll: true }); });
const larger = document.getElementById("larger");
larger.addEventListener("click", () => { larger.setAttribute("aria-pressed", String(stage.classList.toggle("large"))); fit(); });
const scrolls = (event) => event.pointerType === "touch" && drag.getAttribute("aria-pressed") !== "true";

let touch = null;
let lastClick = { time: 0, x: 0, y: 0, n: 0 };

function clicks(event) {
  const near = Math.hypot(event.clientX - lastClick.x, event.clientY - lastClick.y) < 6 && event.timeStamp - lastClick.time < 500;
  lastClick = { time: event.timeStamp, x: event.clientX, y: event.clientY, n: near ? (lastClick.n % 3) + 1 : 1 };
  return lastClick.n;
}

function mouse(k, event, n) {
  tell({ t: "mouse", k, ...at(event), b: k === "moved" ? (event.buttons & 1 ? "left" : "none") : BUTTONS[event.button] ?? "left", buttons: event.buttons & 31, n, m: modifiers(event) });
}

if (acts) {
  canvas.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    canvas.setPointerCapture(event.pointerId);
    if (event.pointerType !== "touch") typing.focus({ preventScroll: true });
    if (scrolls(event)) { touch = { x: event.clientX, y: event.clientY, moved: false }; return; }
    mouse("pressed", event, clicks(event));
  });
  canvas.addEventListener("pointermove", (event) => {
    if (touch && scrolls(event)) {
      const dx = touch.x - event.clientX, dy = touch.y - event.clientY;
      if (!touch.moved && Math.hypot(dx, dy) < 8) return;
      touch = { x: event.clientX, y: event.clientY, moved: true };
      const scale = page.width / canvas.getBoundingClientRect().width;
      tell({ t: "wheel", ...at(event), dx: dx * scale, dy: dy * scale, m: 0 });
      return;
    }
    for (const each of event.getCoalescedEvents?.().length ? event.getCoalescedEvents() : [event]) mouse("moved", each, 0);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (touch && scrolls(event)) {
      if (!touch.moved) { const n = clicks(event); mouse("moved", event, 0); for (const k of ["pressed", "released"]) tell({ t: "mouse", k, ...at(event), b: "left", buttons: k === "pressed" ? 1 : 0, n, m: 0 }); }
      touch = null;
      return;
    }
    mouse("released", event, lastClick.n);
  });
  canvas.addEventListener("pointercancel", () => { touch = null; });
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 40 : event.deltaMode === 2 ? page.height : 1;
    tell({ t: "wheel", ...at(event), dx: event.deltaX * unit, dy: event.deltaY * unit, m: modifiers(event) });
  }, { passive: false });

  const key = (k) => (event) => {
    // A composition and a phone's keyboard tell by input events what they made; pasting too.
    if (event.isComposing || event.keyCode === 229 || event.key === "Unidentified" || event.key === "Dead") return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "v" || event.shiftKey && event.key === "Insert") return;
    event.preventDefault();
    tell({ t: "key", k, key: event.key, code: event.code, v: event.keyCode & 255, l: event.location & 3, r: event.repeat, m: modifiers(event) });
  };
  typing.addEventListener("keydown", key("down"));
  typing.addEventListener("keyup", key("up"));
  typing.addEventListener("compositionupdate", (event) => tell({ t: "compose", text: event.data }));
  // A phone's keyboard tells of a deletion only where there is something to delete.
  const EMPTY = "\u200b";
  const empty = () => { typing.value = EMPTY; typing.setSelectionRange(1, 1); };
  typing.addEventListener("compositionend", (event) => { tell({ t: "text", text: event.data }); empty(); });
  typing.addEventListener("paste", (event) => { event.preventDefault(); tell({ t: "text", text: event.clipboardData.getData("text/plain") }); });
  typing.addEventListener("input", (event) => {
    if (event.isComposing || event.inputType === "insertCompositionText") return;
    if (event.inputType.startsWith("delete")) for (const k of ["down", "up"]) tell({ t: "key", k, key: "Backspace", code: "Backspace", v: 8 });
    else if (event.inputType === "insertLineBreak") for (const k of ["down", "up"]) tell({ t: "key", k, key: "Enter", code: "Enter", v: 13 });
    else if (typing.value.replaceAll(EMPTY, "")) tell({ t: "text", text: typing.value.replaceAll(EMPTY, "") });
    empty();
  });
  empty();
  typing.focus({ preventScroll: true });
}

// For the page around this one: when the line is back there is nothing to do here.
window.followsTheLine = true;

// The tests read the page's width and the number of pictures here, and send what no button of a watcher would.
window.shownWidth = () => page.width;
window.shownPictures = () => painted;
window.tellAll = tell;

connect();
