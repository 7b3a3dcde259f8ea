// File inputs: which one an element means, and what the page was given.
const isFileInput = (element) => Boolean(element) && element.tagName === "INPUT" && element.type === "file";
const received = (input) => [...input.files].map((file) => ({ name: file.name, size: file.size }));

// Itself, the one that its label is for, or the only one inside it; null where only a click can tell.
function fileInputOf(number) {
  const element = elementOf(number);
  if (!element || isFileInput(element)) return element;
  const near = element.closest("label, button, a[href]");
  if (near && near.tagName === "LABEL" && isFileInput(near.control)) return near.control;
  const inside = [...element.querySelectorAll("input[type=file]")];
  return inside.length === 1 ? inside[0] : null;
}

function fileTarget(number) {
  return elementOf(number) ? { found: Boolean(fileInputOf(number)) } : { error: "stale", ...staleReason(number) };
}

// The only file input of the document, for a call without a target.
function onlyFileInput() {
  const found = [];
  for (const root of allRoots()) found.push(...root.querySelectorAll("input[type=file]"));
  return found.length === 1 ? found[0] : null;
}

function fileInputs() {
  let count = 0;
  for (const root of allRoots()) count += root.querySelectorAll("input[type=file]").length;
  return count;
}

// Pages often empty the input once they have read it, so what arrives is noted before their own listeners run.
function armUpload(input) {
  if (!isFileInput(input)) return { error: "kind", what: describe(input) };
  if (input.matches(":disabled")) return { error: "disabled", what: describe(input) };
  const note = () => { state.upload.seen = received(input); };
  state.upload = { input, seen: null };
  for (const kind of ["input", "change"]) input.addEventListener(kind, note, { capture: true, once: true });
  return { multiple: input.multiple || input.webkitdirectory, accept: input.accept, what: describe(input) };
}

function finishUpload() {
  const { input, seen } = state.upload;
  state.upload = null;
  return { seen, holds: received(input) };
}
