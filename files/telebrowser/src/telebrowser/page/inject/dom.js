// What every other part stands on: composed-tree walking, visibility, text, roles, names, refs.
// Runs in an isolated world of each frame, so the page can neither see nor change it.
const closedRoots = new WeakMap();
const refs = new Map();
const numbers = new WeakMap();

const TEXT_TYPES = new Set(["text", "search", "email", "url", "tel", "password", "number"]);
const VALUE_TYPES = new Set(["date", "time", "month", "week", "datetime-local", "color", "range"]);
const BUTTON_TYPES = new Set(["button", "submit", "reset", "image"]);
const SKIPPED = new Set(["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "HEAD", "META", "LINK", "TITLE", "BR", "WBR", "SOURCE", "TRACK", "PARAM", "DATALIST"]);
const TAG_ROLES = {
  BUTTON: "button", TEXTAREA: "textbox", SUMMARY: "button", OPTION: "option", H1: "heading", H2: "heading", H3: "heading",
  H4: "heading", H5: "heading", H6: "heading", IMG: "img", NAV: "navigation", MAIN: "main", ASIDE: "complementary", FORM: "form",
  TABLE: "table", TR: "row", UL: "list", OL: "list", LI: "listitem", DIALOG: "dialog", FIELDSET: "group", PROGRESS: "progressbar",
  METER: "meter", VIDEO: "video", AUDIO: "audio", IFRAME: "iframe", FRAME: "iframe", CANVAS: "canvas",
};
const INTERACTIVE = new Set(["link", "button", "textbox", "searchbox", "combobox", "checkbox", "radio", "switch", "slider", "spinbutton", "option",
  "menuitem", "menuitemcheckbox", "menuitemradio", "tab", "treeitem", "listbox", "file"]);
const STRUCTURE = new Set(["navigation", "main", "complementary", "form", "dialog", "alertdialog", "alert", "status", "banner", "contentinfo", "region", "search",
  "group", "list", "listitem", "row", "table", "grid", "tablist", "menu", "menubar", "tree", "toolbar", "radiogroup", "article", "tabpanel", "listbox"]);
const FLATTENED = new Set(["list", "listitem", "row", "group", "table", "article"]);

const shadowOf = (element) => element.shadowRoot || closedRoots.get(element) || null;

function flatChildren(node) {
  if (node.nodeType === 1) {
    const root = shadowOf(node);
    if (root) return root.childNodes;
    if (node.tagName === "SLOT") {
      const assigned = node.assignedNodes();
      if (assigned.length) return assigned;
    }
  }
  return node.childNodes;
}

function flatParent(node) {
  if (node.assignedSlot) return node.assignedSlot;
  const parent = node.parentNode;
  return parent && parent.nodeType === 11 && parent.host ? parent.host : parent;
}

function contains(ancestor, node) {
  for (let at = node; at; at = flatParent(at)) if (at === ancestor) return true;
  return false;
}

function isVisible(element) {
  if (!element.isConnected || !element.checkVisibility({ visibilityProperty: true })) return false;
  if (getComputedStyle(element).display === "contents") return true;
  const box = element.getBoundingClientRect();
  return box.width > 0 && box.height > 0;
}

const squash = (text) => text.replace(/[\s\u200b]+/g, " ").trim();
const clip = (text, limit) => (text.length > limit ? text.slice(0, limit - 1) + "…" : text);

function gather(node, parts, limit) {
  for (const child of flatChildren(node)) {
    if (parts.length_ > limit) return;
    if (child.nodeType === 3) {
      if (child.data.trim()) { parts.push(child.data); parts.length_ += child.data.length; } else parts.push(" ");
    } else if (child.nodeType === 1 && !SKIPPED.has(child.tagName)) {
      if (child.getAttribute("aria-hidden") === "true") continue;
      const style = getComputedStyle(child);
      if (style.display === "none" || style.visibility === "hidden") continue;
      const apart = style.display !== "inline" && style.display !== "contents";
      if (apart) parts.push(" ");
      if (child.tagName === "IMG") { parts.push(child.alt || ""); parts.length_ += (child.alt || "").length; }
      else if (child.hasAttribute("aria-label")) { parts.push(child.getAttribute("aria-label")); parts.length_ += child.getAttribute("aria-label").length; }
      else if (child.tagName !== "SELECT" && child.tagName !== "TEXTAREA") gather(child, parts, limit);
      if (apart) parts.push(" ");
    } else if (child.nodeType === 1 && child.tagName === "BR") parts.push(" ");
  }
}

function textOf(element, limit = 200) {
  const parts = [];
  parts.length_ = 0;
  gather(element, parts, limit);
  return squash(parts.join(""));
}

function inputRole(element) {
  const type = element.type;
  if (type === "checkbox" || type === "radio") return type;
  if (BUTTON_TYPES.has(type)) return "button";
  if (type === "range") return "slider";
  if (type === "number") return "spinbutton";
  if (type === "search") return "searchbox";
  if (type === "file") return "file";
  if (type === "hidden") return "";
  return element.hasAttribute("list") ? "combobox" : "textbox";
}

function roleOf(element) {
  const explicit = (element.getAttribute("role") || "").trim().split(/\s+/)[0].toLowerCase();
  if (explicit && explicit !== "presentation" && explicit !== "none") return explicit;
  switch (element.tagName) {
    case "A": case "AREA": return element.hasAttribute("href") ? "link" : "";
    case "INPUT": return inputRole(element);
    case "SELECT": return element.multiple || element.size > 1 ? "listbox" : "combobox";
    case "SECTION": return element.hasAttribute("aria-label") || element.hasAttribute("aria-labelledby") ? "region" : "";
    case "HEADER": return element.closest("article,aside,main,nav,section") ? "" : "banner";
    case "FOOTER": return element.closest("article,aside,main,nav,section") ? "" : "contentinfo";
    default:
      if (element.isContentEditable && !(element.parentElement && element.parentElement.isContentEditable)) return "textbox";
      return TAG_ROLES[element.tagName] || "";
  }
}

function labelsOf(element) {
  const found = [];
  for (const label of element.labels || []) found.push(textOf(label, 120));
  return squash(found.join(" "));
}

function nameOf(element, role) {
  const by = element.getAttribute("aria-labelledby");
  if (by) {
    const root = element.getRootNode();
    const text = squash(by.split(/\s+/).map((id) => { const at = root.getElementById && root.getElementById(id); return at ? textOf(at, 120) : ""; }).join(" "));
    if (text) return text;
  }
  const label = squash(element.getAttribute("aria-label") || "");
  if (label) return label;
  const tag = element.tagName;
  if (tag === "INPUT" && BUTTON_TYPES.has(element.type)) return squash(element.value || element.alt || element.title || { submit: "Submit", reset: "Reset" }[element.type] || "");
  if (tag === "INPUT" || tag === "SELECT" || tag === "TEXTAREA") return labelsOf(element) || squash(element.getAttribute("placeholder") || element.title || "");
  if (tag === "IMG" || tag === "AREA") return squash(element.alt || element.title || "");
  if (tag === "IFRAME" || tag === "FRAME") return squash(element.title || element.name || "");
  if (tag === "FIELDSET") { const legend = element.querySelector("legend"); if (legend) return textOf(legend, 120); }
  if (role === "textbox" || role === "searchbox" || role === "spinbutton" || (role === "combobox" && element.isContentEditable)) return squash(element.getAttribute("placeholder") || element.title || "");
  if (STRUCTURE.has(role)) return squash(element.title || "");
  return textOf(element, 200) || squash(element.title || "");
}

function refOf(element, role, name) {
  let number = numbers.get(element);
  if (number === undefined) {
    number = state.next++;
    numbers.set(element, number);
  }
  refs.set(number, { weak: new WeakRef(element), role, name });
  return number;
}

function elementOf(number) {
  const entry = refs.get(number);
  const element = entry && entry.weak.deref();
  return element && element.isConnected ? element : null;
}

function* elementsUnder(root) {
  for (const child of flatChildren(root)) {
    if (child.nodeType !== 1) continue;
    yield child;
    yield* elementsUnder(child);
  }
}

// Every root in which a CSS selector can match: the document, then open and known closed shadow roots.
function allRoots() {
  const roots = [document];
  for (let i = 0; i < roots.length; i++)
    for (const element of roots[i].querySelectorAll("*")) { const root = shadowOf(element); if (root) roots.push(root); }
  return roots;
}

function select(selector) {
  let first = document.querySelector(selector);
  if (first) return first;
  for (const root of allRoots()) if ((first = root.querySelector(selector))) return first;
  return null;
}

function activeElement() {
  let at = document.activeElement;
  while (at) {
    const root = shadowOf(at);
    if (!root || !root.activeElement) return at;
    at = root.activeElement;
  }
  return at;
}

function describe(element) {
  if (!element || element.nodeType !== 1) return "the page";
  const id = element.id ? "#" + element.id : "";
  const classes = !id && typeof element.className === "string" && element.className.trim() ? "." + element.className.trim().split(/\s+/).slice(0, 2).join(".") : "";
  const text = clip(textOf(element, 40), 40);
  return element.tagName.toLowerCase() + id + classes + (text ? ` (${text.replace(/["\\]/g, "'")})` : "");
}

const tick = () => new Promise((resolve) => { const channel = new MessageChannel(); channel.port1.onmessage = resolve; channel.port2.postMessage(0); });
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const frame = (limit = 100) => Promise.race([new Promise((resolve) => requestAnimationFrame(resolve)), pause(limit)]);
