// The outline of a frame: one line per thing that matters, refs on what can be acted on, cut at a byte budget.
const encoder = new TextEncoder();
const CLICK_EVENTS = ["click", "mousedown", "mouseup", "pointerdown", "pointerup", "touchstart", "dblclick"];

function states(element, role) {
  const found = [];
  const aria = (name) => element.getAttribute("aria-" + name);
  if (role === "heading") { const level = /^H[1-6]$/.test(element.tagName) ? element.tagName[1] : aria("level"); if (level) found.push("level=" + level); }
  if (element.checked === true && (element.type === "checkbox" || element.type === "radio")) found.push(element.indeterminate ? "mixed" : "checked");
  else if (aria("checked") === "true") found.push("checked"); else if (aria("checked") === "mixed") found.push("mixed");
  if (element.disabled === true || aria("disabled") === "true") found.push("disabled");
  if (element.readOnly === true && TEXT_TYPES.has(element.type) || element.tagName === "TEXTAREA" && element.readOnly || aria("readonly") === "true") found.push("readonly");
  if (element.required === true || aria("required") === "true") found.push("required");
  if (aria("expanded") === "true" || (element.tagName === "SUMMARY" && element.parentElement && element.parentElement.open)) found.push("expanded"); else if (aria("expanded") === "false") found.push("collapsed");
  if (element.selected === true && element.tagName === "OPTION" || aria("selected") === "true") found.push("selected");
  if (aria("pressed") === "true") found.push("pressed");
  if (aria("current") && aria("current") !== "false") found.push("current");
  if (aria("invalid") === "true") found.push("invalid");
  if (element === activeElement() && element !== document.body) found.push("focused");
  if (element.tagName === "INPUT" && (VALUE_TYPES.has(element.type) || element.type === "password" || element.type === "email")) found.push("type=" + element.type);
  return found;
}

function valueOf(element, role) {
  if (element.tagName === "INPUT") {
    if (element.type === "password") return element.value ? "(filled)" : "";
    if (element.type === "file") return [...element.files].map((file) => file.name).join(", ");
    return TEXT_TYPES.has(element.type) || VALUE_TYPES.has(element.type) ? element.value : "";
  }
  if (element.tagName === "TEXTAREA") return element.value;
  if (element.tagName === "SELECT") return [...element.selectedOptions].map((option) => option.label).join(", ");
  if (role === "textbox" && element.isContentEditable) return textOf(element, 200);
  return element.getAttribute("aria-valuetext") || element.getAttribute("aria-valuenow") || "";
}

function shortUrl(element) {
  const href = element.href && element.href.baseVal !== undefined ? element.href.baseVal : element.href;
  if (!href || typeof href !== "string") return "";
  if (/^javascript:/i.test(href)) return "";
  return clip(href.startsWith(location.origin + "/") ? href.slice(location.origin.length) : href, 150);
}

function listens(element, getEventListeners) {
  if (element.onclick || element.hasAttribute("onclick")) return true;
  if (!getEventListeners) return false;
  const found = getEventListeners(element);
  return CLICK_EVENTS.some((name) => found[name]);
}

// Made clickable by script or style alone: a listener or the start of a pointer cursor, on something small.
function isClickable(element, style, parentCursor, getEventListeners) {
  if (element === document.body || element === document.documentElement) return false;
  const tabbable = element.hasAttribute("tabindex") && element.tabIndex >= 0;
  const pointer = style.cursor === "pointer" && parentCursor !== "pointer";
  if (!tabbable && !pointer && !listens(element, getEventListeners)) return false;
  const own = element.getBoundingClientRect();
  if (own.width * own.height > innerWidth * innerHeight * 0.6) return false;
  return textOf(element, 320).length <= 300 && element.querySelectorAll("a[href],button,input,select,textarea").length <= 3;
}

// A label that stands for a control which is itself not shown.
function labelled(element) {
  const control = element.tagName === "LABEL" ? element.control : null;
  return control && !isVisible(control) && control.type !== "hidden" ? control : null;
}

class Outline {
  constructor(options, getEventListeners) {
    this.options = options;
    this.getEventListeners = getEventListeners;
    this.lines = [];
    this.bytes = 0;
    this.full = false;
    this.left = 0;
    this.deep = 0;
    this.total = 0;
    this.elements = 0;
    this.frames = [];
    this.text = "";
  }

  push(indent, text, extra) {
    const size = encoder.encode(text).length + indent * 2 + 1;
    if (this.full || this.bytes + size > this.options.maxBytes) { this.full = true; return null; }
    this.bytes += size;
    const line = { indent, text, ...extra };
    this.lines.push(line);
    return line;
  }

  flush(indent) {
    const text = squash(this.text);
    this.text = "";
    if (!text || !this.options.text) return;
    if (this.full) return;
    this.push(indent, "- text: " + clip(text, 300));
  }

  interactive(element, role, indent) {
    this.total++;
    if (this.full) { this.left++; return; }
    const control = labelled(element) || element;
    const name = nameOf(element, role);
    const shown = clip(name, 150).replace(/\\/g, "\\\\").replace(/"/g, '\\"');
    const marks = states(control, role).map((state) => `[${state}]`);
    const number = refOf(element, role, name);
    let text = `- ${role}` + (shown ? ` "${shown}"` : "") + (marks.length ? " " + marks.join(" ") : "") + ` [ref=e${number}]`;
    const url = role === "link" ? shortUrl(element) : "";
    if (url) text += " url=" + url;
    if (element.tagName === "SELECT") text += " options=" + clip([...element.options].slice(0, 12).map((option) => option.label).join("|"), 150) + (element.options.length > 12 ? `|+${element.options.length - 12}` : "");
    const value = squash(valueOf(control, role));
    if (value) text += ": " + clip(value, 150);
    if (!this.push(indent, text)) this.left++;
  }

  walk(node, indent, parentCursor, quiet) {
    for (const child of flatChildren(node)) {
      if (child.nodeType === 3) { if (!quiet && this.options.text && !this.full) this.text += child.data; continue; }
      if (child.nodeType !== 1) continue;
      if (child.tagName === "BR") { this.text += " "; continue; }
      if (SKIPPED.has(child.tagName)) continue;
      this.visit(child, indent, parentCursor, quiet);
    }
  }

  visit(element, indent, parentCursor, quiet) {
    this.elements++;
    const style = getComputedStyle(element);
    if (style.display === "none" || element.getAttribute("aria-hidden") === "true") return;
    const shown = style.visibility === "visible";
    const block = style.display !== "inline" && style.display !== "contents";
    let role = roleOf(element);
    if (!INTERACTIVE.has(role) && element.tagName === "LABEL" && labelled(element)) role = roleOf(labelled(element)) || "clickable";
    else if (!INTERACTIVE.has(role) && shown && role !== "iframe" && isClickable(element, style, parentCursor, this.getEventListeners)) role = role && !STRUCTURE.has(role) && role !== "heading" && role !== "img" ? role : "clickable";
    if (role === "iframe") return this.frame(element, indent, shown);
    const acts = (INTERACTIVE.has(role) || role === "clickable") && role !== "";
    if (acts && role !== "listbox" && shown) return this.act(element, role, indent, style.cursor);
    if ((role === "heading" || role === "img") && shown && !quiet) {
      const name = nameOf(element, role);
      if (name) {
        this.flush(indent);
        if (!this.full) this.push(indent, `- ${role} "${clip(name, 200).replace(/\\/g, "\\\\").replace(/"/g, '\\"')}"` + states(element, role).map((state) => ` [${state}]`).join(""));
      }
      return this.walk(element, indent + 1, style.cursor, true);
    }
    if (STRUCTURE.has(role)) return this.structure(element, role, indent, style.cursor, quiet, shown);
    if (block) this.flush(indent);
    this.walk(element, indent, style.cursor, quiet || !shown);
    if (block) this.flush(indent);
  }

  act(element, role, indent, cursor) {
    const box = element.getBoundingClientRect();
    if (box.width <= 0 && box.height <= 0 && !element.firstChild && !element.shadowRoot && element.tagName !== "AREA" && element.tagName !== "OPTION") return;
    this.flush(indent);
    this.interactive(element, role, indent);
    if (element.tagName === "SELECT" || element.tagName === "INPUT" || element.tagName === "TEXTAREA") return;
    this.walk(element, indent + 1, role === "clickable" ? "pointer" : cursor, role !== "textbox");
    this.flush(indent + 1);
  }

  structure(element, role, indent, cursor, quiet, shown) {
    this.flush(indent);
    if (indent >= this.options.depth) { this.deep += 1; return; }
    const at = this.lines.length;
    const before = this.bytes;
    const name = clip(nameOf(element, role), 120).replace(/\\/g, "\\\\").replace(/"/g, '\\"');
    const wasFull = this.full;
    if (!this.full) this.push(indent, `- ${role}` + (name ? ` "${name}"` : "") + states(element, role).map((state) => ` [${state}]`).join("") + ":");
    this.walk(element, indent + 1, cursor, quiet || !shown);
    this.flush(indent + 1);
    if (wasFull || this.lines.length <= at) return;
    const inside = this.lines.length - at - 1;
    if (inside === 0) { if (!this.full || this.lines.length === at + 1) { this.lines.pop(); this.bytes = before; } }
    else if (FLATTENED.has(role) && !name && inside === 1) { this.lines.splice(at, 1); for (let i = at; i < this.lines.length; i++) this.lines[i].indent--; }
  }

  frame(element, indent, shown) {
    this.flush(indent);
    const box = element.getBoundingClientRect();
    if (!shown || box.width < 2 || box.height < 2) return;
    const name = clip(nameOf(element, "iframe"), 100).replace(/\\/g, "\\\\").replace(/"/g, '\\"');
    const number = refOf(element, "iframe", name);
    const line = this.push(indent, "- iframe" + (name ? ` "${name}"` : "") + ":", { frame: number });
    this.frames.push({ number, placed: Boolean(line) });
  }
}

// Elements that may hide a closed shadow root: nothing inside that shows, yet a size of their own.
function suspects(limit) {
  const found = [];
  for (const element of document.querySelectorAll("*")) {
    if (element.shadowRoot || closedRoots.has(element)) continue;
    const custom = element.localName.includes("-");
    if (!custom && (element.firstElementChild || !/^(article|aside|blockquote|div|footer|header|main|nav|p|section|span)$/.test(element.localName))) continue;
    if (!custom && element.offsetHeight === 0) continue;
    if (!custom && squash(element.textContent)) continue;
    found.push(element);
    if (found.length >= limit) break;
  }
  return found;
}

function snapshot(options, getEventListeners) {
  state.next = options.next;
  let root = document.body || document.documentElement;
  if (options.scope !== null) root = typeof options.scope === "number" ? elementOf(options.scope) : select(options.scope);
  if (!root) return { missing: true };
  const outline = new Outline(options, getEventListeners);
  if (options.scope !== null) outline.visit(root, 0, "", false); else if (root === document.body) outline.walk(root, 0, "", false); else outline.visit(root, 0, "", false);
  outline.flush(0);
  return {
    lines: outline.lines.map((line) => [line.indent, line.text, line.frame || 0]), frames: outline.frames, left: outline.left, total: outline.total, deep: outline.deep,
    full: outline.full, bytes: outline.bytes, next: state.next, count: outline.elements, title: document.title, url: location.href, ready: document.readyState,
  };
}

function cssPath(element) {
  const unique = (selector) => { try { return element.getRootNode().querySelectorAll(selector).length === 1; } catch { return false; } };
  if (element.id && unique("#" + CSS.escape(element.id))) return "#" + CSS.escape(element.id);
  for (const attribute of ["data-testid", "name", "aria-label"]) {
    const value = element.getAttribute(attribute);
    const selector = value && `${element.localName}[${attribute}="${CSS.escape(value)}"]`;
    if (selector && unique(selector)) return selector;
  }
  const steps = [];
  for (let at = element; at && at.nodeType === 1 && at !== document.documentElement; at = at.parentElement) {
    if (at.id && unique("#" + CSS.escape(at.id))) { steps.unshift("#" + CSS.escape(at.id)); break; }
    const alike = at.parentElement ? [...at.parentElement.children].filter((other) => other.localName === at.localName) : [at];
    steps.unshift(at.localName + (alike.length > 1 ? `:nth-of-type(${alike.indexOf(at) + 1})` : ""));
  }
  return steps.join(" > ");
}

// The flat list form: interactive elements only, with selectors that work in the other tools.
function elementList(options, getEventListeners) {
  state.next = options.next;
  const outline = new Outline({ maxBytes: Infinity, depth: Infinity, text: false }, getEventListeners);
  const found = [];
  outline.interactive = (element, role) => {
    outline.total++;
    if (found.length >= options.maxItems) { outline.left++; return; }
    const control = labelled(element) || element;
    const marks = new Set(states(control, role));
    const by = element.getAttribute("aria-describedby");
    const entry = { role, name: clip(nameOf(element, role), 200), description: clip(squash(by ? by.split(/\s+/).map((id) => (document.getElementById(id) || {}).textContent || "").join(" ") : element.title || ""), 200), selector: cssPath(element), ref: "e" + refOf(element, role, nameOf(element, role)) };
    for (const mark of ["checked", "disabled", "selected", "readonly", "required"]) if (marks.has(mark)) entry[mark] = true;
    if (marks.has("expanded")) entry.expanded = true; else if (marks.has("collapsed")) entry.expanded = false;
    const value = control.type === "password" ? "" : squash(valueOf(control, role));
    if (options.text && value) entry.value = clip(value, 200);
    found.push(entry);
  };
  const root = options.scope === null ? document.body || document.documentElement : typeof options.scope === "number" ? elementOf(options.scope) : select(options.scope);
  if (!root) return { missing: true };
  outline.visit(root, 0, "", false);
  return { elements: found, frames: outline.frames, left: outline.left, next: state.next, count: outline.elements, title: document.title, url: location.href };
}
