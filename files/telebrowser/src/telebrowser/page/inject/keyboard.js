// Typing: is the field writable, focus it, clear it, and afterwards read back what it really holds.
const PASTED_LENGTH = 1000;
const FORMATS = { date: "yyyy-mm-dd", time: "hh:mm or hh:mm:ss", month: "yyyy-mm", week: "yyyy-Www", "datetime-local": "yyyy-mm-ddThh:mm", color: "#rrggbb", range: "a number", number: "a number" };

function fieldOf(element) {
  if (element.tagName === "LABEL" && element.control) return element.control;
  return element;
}

function editHost(element) {
  let host = element;
  while (host.parentElement && host.parentElement.isContentEditable) host = host.parentElement;
  return host;
}

function kindOf(element) {
  if (element.tagName === "TEXTAREA") return "text";
  if (element.tagName === "SELECT") return "select";
  if (element.tagName === "INPUT") return VALUE_TYPES.has(element.type) ? "value" : TEXT_TYPES.has(element.type) ? "text" : "none";
  return element.isContentEditable ? "editable" : "none";
}

const readBack = (element, kind) => (kind === "editable" ? element.innerText : element.value);

function caretIn(element, all) {
  const range = document.createRange();
  range.selectNodeContents(element);
  if (!all) range.collapse(false);
  const selection = element.getRootNode().getSelection ? element.getRootNode().getSelection() : getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
  return !range.collapsed;
}

async function prepareType(number, options) {
  const found = elementOf(number);
  if (!found) return { error: "stale", ...staleReason(number) };
  const element = fieldOf(found);
  const kind = kindOf(element);
  const what = describe(element);
  if (element.disabled === true || element.getAttribute("aria-disabled") === "true" || element.matches("fieldset:disabled *")) return { error: "disabled", what };
  if (kind === "none") return { error: "untypeable", what, why: element.tagName === "INPUT" ? `it is an input of type ${element.type}` : "it is not a text field" };
  if (element.readOnly === true && kind !== "select" || element.getAttribute("aria-readonly") === "true") return { error: "untypeable", what, why: "it is read-only" };
  if (!isVisible(element)) return { error: "hidden", what };
  element.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
  if (kind === "select") return chooseOption(element, options.text);
  if (kind === "value") return setValue(element, options.text, what);
  if (element.type === "number" && options.text.trim() !== "" && !(options.clear ? /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/ : /^[-+.\deE]+$/).test(options.text.trim())) return { error: "format", what, format: FORMATS.number, holds: element.value };
  const before = readBack(element, kind);
  const host = kind === "editable" ? editHost(element) : element;
  host.focus({ preventScroll: true });
  await Promise.resolve();
  if (!element.isConnected) return { error: "stale", ...staleReason(number) };
  let selected = false;
  if (kind === "editable") selected = caretIn(element, options.clear);
  else if (options.clear) { element.select(); selected = element.value !== ""; }
  else if (kind === "text" && element.type !== "number" && element.type !== "email") element.setSelectionRange(element.value.length, element.value.length);
  if (kind === "text" && options.text.length > PASTED_LENGTH) return pasteText(element, options, before, what);
  state.typing = { element, kind, before };
  const at = activeElement();
  const focused = at === element || at === host || (at && contains(element, at));
  const box = element.getBoundingClientRect();
  return { kind, before: before.length, selected, focused, end: element.type === "number" || element.type === "email", single: element.tagName === "INPUT", secret: element.type === "password", tag: element.type || element.tagName, x: box.left + box.width / 2, y: box.top + box.height / 2, maxLength: element.maxLength > 0 ? element.maxLength : 0 };
}

// After a real click into a field that ignored focus(): select what is to be replaced again.
function selectTyped(clear) {
  const { element, kind } = state.typing;
  const at = activeElement();
  if (!(at === element || contains(element, at) || (kind === "editable" && at && at.isContentEditable && contains(at, element)))) return { focused: false };
  if (kind === "editable") caretIn(element, clear); else if (clear) element.select();
  return { focused: true };
}

// `last` says that no other way to type is left; until then a field that took nothing, or only a part, is reported with what to type again.
async function finishType(expected, clear, last) {
  const typing = state.typing;
  if (!typing) return { lost: true };
  const { element, kind, before } = typing;
  const wanted = clear ? expected : before + expected;
  const plain = (text) => (kind === "editable" ? squash(text) : text);
  const matches = () => plain(readBack(element, kind)) === plain(wanted);
  await tick();
  await pause(0);
  if (!matches()) await pause(30);
  if (!last && element.isConnected && !matches() && expected !== "") {
    const held = plain(readBack(element, kind));
    if (held === plain(before) || held === "") return { again: expected };
    // Chromium drops keys while a page has not painted yet.
    if (plain(wanted).startsWith(held)) return { again: clear ? expected : plain(wanted).slice(held.length) };
  }
  if (kind === "text" && element.isConnected && element.value !== before) {
    element.dispatchEvent(new Event("change", { bubbles: true }));
    await tick();
  }
  state.typing = null;
  const now = readBack(element, kind);
  return { value: element.type === "password" ? null : clip(now, 2000), length: now.length, matches: matches(), connected: element.isConnected };
}

// Long text is put in as a whole, as a paste would: Chromium takes a minute to insert ten thousand lines as input.
async function pasteText(element, options, before, what) {
  const text = element.tagName === "INPUT" ? options.text.replace(/[\r\n]/g, "") : options.text.replace(/\r\n?/g, "\n");
  if (element.maxLength > 0 && text.length > element.maxLength) return { error: "format", what, format: `at most ${element.maxLength} characters`, holds: clip(before, 100) };
  const wanted = options.clear ? text : before + text;
  setNative(element, wanted);
  await tick();
  await pause(0);
  if (element.value !== wanted) await pause(30);
  return { done: true, kind: "text", value: element.type === "password" ? null : clip(element.value, 2000), length: element.value.length, matches: element.value === wanted };
}

function setNative(element, value) {
  element.value = value;
  element.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
  element.dispatchEvent(new Event("change", { bubbles: true }));
}

async function setValue(element, text, what) {
  const before = element.value;
  const wanted = text.trim();
  if (wanted !== "") {
    const probe = document.createElement("input");
    probe.type = element.type;
    for (const attribute of ["min", "max", "step"]) if (element.type === "range" && element.hasAttribute(attribute)) probe.setAttribute(attribute, element.getAttribute(attribute));
    const valid = element.type === "range" ? Number.isFinite(Number(wanted)) : element.type === "color" ? /^#[0-9a-f]{6}$/i.test(wanted) : ((probe.value = wanted), probe.value !== "");
    if (!valid) return { error: "format", what, format: FORMATS[element.type], holds: before };
  } else if (element.type === "color" || element.type === "range") return { error: "format", what, format: FORMATS[element.type], holds: before };
  element.focus({ preventScroll: true });
  setNative(element, element.type === "color" ? wanted.toLowerCase() : wanted);
  await tick();
  await pause(0);
  const now = element.value;
  const alike = now === wanted.toLowerCase() || now === wanted || (element.type === "range" && Number(now) === Number(wanted)) || (now !== "" && wanted !== "" && now.startsWith(wanted));
  return { done: true, kind: "value", value: now, length: now.length, matches: alike };
}

async function chooseOption(element, text) {
  const wanted = squash(text);
  const options = [...element.options];
  const option = options.find((each) => squash(each.label) === wanted) || options.find((each) => each.value === wanted) || options.find((each) => squash(each.label).toLowerCase() === wanted.toLowerCase());
  if (!option) return { error: "format", what: describe(element), format: "one of " + clip(options.map((each) => squash(each.label)).join(", "), 200), holds: valueOf(element, "combobox") };
  if (option.disabled) return { error: "disabled", what: "option " + squash(option.label) };
  element.focus({ preventScroll: true });
  if (element.multiple) option.selected = true; else element.selectedIndex = option.index;
  element.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
  element.dispatchEvent(new Event("change", { bubbles: true }));
  await tick();
  await pause(0);
  const now = valueOf(element, "combobox");
  return { done: true, kind: "select", value: now, length: now.length, matches: option.selected };
}
