// Before a click: is it there, shown, still, uncovered, and where. During it: did the event reach the target.
function staleReason(number) {
  const entry = refs.get(number);
  if (!entry) return { state: "unknown" };
  const alike = [];
  if (entry.name) for (const element of elementsUnder(document.documentElement)) {
    const role = roleOf(element) || entry.role;
    if (role !== entry.role || !isVisible(element) || nameOf(element, role) !== entry.name) continue;
    alike.push(element);
    if (alike.length > 1) break;
  }
  return { state: "removed", role: entry.role, name: clip(entry.name, 80), alike: alike.length, now: alike.length === 1 && state.next > 0 ? refOf(alike[0], entry.role, entry.name) : 0, next: state.next };
}

function locate(target) {
  if (typeof target === "number") return elementOf(target);
  return select(target);
}

// Gives a found element a number without a snapshot, so that the other calls can name it.
function adopt(selector, next) {
  state.next = next;
  const element = select(selector);
  if (!element) return null;
  const number = numbers.get(element) || refOf(element, roleOf(element), "");
  return { number, next: state.next };
}

const inView = (x, y) => x >= 0 && y >= 0 && x < innerWidth && y < innerHeight;

function deepest(x, y, root) {
  let hit = (root || document).elementFromPoint(x, y);
  while (hit) {
    const shadow = shadowOf(hit);
    const inner = shadow && shadow.elementFromPoint(x, y);
    if (!inner || inner === hit) return hit;
    hit = inner;
  }
  return hit;
}

// A hit counts when it is in the target, or where the browser itself passes the click on (a label to its control, and back).
function reaches(hit, element) {
  if (!hit) return false;
  if (contains(element, hit)) return true;
  const label = hit.closest && hit.closest("label");
  if (label && label.control && (label.control === element || contains(element, label.control))) return true;
  return element.tagName === "LABEL" && element.control === hit;
}

function points(element) {
  const rects = [...element.getClientRects()].filter((rect) => rect.width > 0 && rect.height > 0);
  if (!rects.length) {
    for (const child of flatChildren(element)) if (child.nodeType === 1 && isVisible(child)) return points(child);
    return [];
  }
  const found = [];
  for (const rect of rects.slice(0, 4)) {
    const left = Math.max(rect.left, 0), right = Math.min(rect.right, innerWidth), top = Math.max(rect.top, 0), bottom = Math.min(rect.bottom, innerHeight);
    if (right <= left || bottom <= top) continue;
    const at = (fx, fy) => found.push([left + (right - left) * fx, top + (bottom - top) * fy]);
    at(0.5, 0.5);
    for (const [fx, fy] of [[0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75], [0.1, 0.5], [0.9, 0.5], [0.5, 0.1], [0.5, 0.9]]) at(fx, fy);
  }
  return found;
}

async function settled(element, deadline) {
  // Wait only for what really moves: running transitions and animations of the element or what holds it.
  const moving = () => document.getAnimations().filter((animation) => {
    const target = animation.effect && animation.effect.target;
    if (!target || animation.playState !== "running" || !contains(target, element)) return false;
    const timing = animation.effect.getComputedTiming();
    return Number.isFinite(timing.endTime) && animation.effect.getKeyframes().some((keyframe) => Object.keys(keyframe).some((key) => !["opacity", "color", "backgroundColor", "boxShadow", "offset", "computedOffset", "easing", "composite"].includes(key)));
  });
  for (let running = moving(); running.length && performance.now() < deadline; running = moving())
    await Promise.race([Promise.allSettled(running.map((animation) => animation.finished)), pause(deadline - performance.now())]);
}

const rectOf = (element) => { const box = element.getBoundingClientRect(); return [box.left, box.top, box.width, box.height]; };
const same = (a, b) => a.every((value, i) => Math.abs(value - b[i]) < 1);

async function prepareClick(number, options) {
  const deadline = performance.now() + options.patience;
  let failure = null, tries = 0;
  do {
    if (tries++) await pause(Math.min(50, options.patience / 4));
    let element = elementOf(number);
    if (!element) return { error: "stale", ...staleReason(number) };
    if (element.tagName === "OPTION" && element.closest("select")) return { error: "option" };
    if (!isVisible(element)) {
      const label = [...(element.labels || [])].find(isVisible);
      if (!label) { failure = { error: "hidden", what: describe(element) }; continue; }
      element = label;
    }
    if (element.disabled === true || element.getAttribute("aria-disabled") === "true" || element.matches("fieldset:disabled *")) return { error: "disabled", what: describe(element) };
    await settled(element, deadline);
    let found = points(element);
    if (!found.length || tries > 1 || !inView(...found[0])) {
      const align = ["center", "end", "start", "nearest"][(tries - 1) % 4];
      element.scrollIntoView({ block: align, inline: align === "center" ? "center" : "nearest", behavior: "instant" });
      found = points(element);
    }
    if (!found.length) { failure = { error: "hidden", what: describe(element) }; continue; }
    const before = rectOf(element);
    let cover = null;
    for (const [x, y] of found) {
      const hit = deepest(x, y);
      if (reaches(hit, element)) { await tick(); if (!same(before, rectOf(element))) { failure = { error: "moving", what: describe(element) }; cover = null; break; } return { x, y, armed: arm(element, options) }; }
      cover = cover || hit;
    }
    if (cover) failure = { error: "covered", what: describe(element), by: describe(cover) };
  } while (performance.now() < deadline);
  return failure;
}

// Where a click leads that saves a file of the page's own origin: the browser says nothing of it before the server has answered.
// Other links with the attribute are followed like any link.
const clickOf = (event) => ({ event, link: event.composedPath().find((at) => at.tagName === "A" || at.tagName === "AREA") });
function savedBy(click) {
  if (!click || !click.link || click.event.defaultPrevented || !click.link.hasAttribute("download")) return null;
  const { href, origin } = click.link;
  return /^(blob|data):/.test(href) || (href && origin === location.origin) ? href : null;
}

// Guards the coming press: an event that would reach something else is stopped, and seen.
function arm(element, options) {
  disarm();
  const root = element.getRootNode();
  const watch = { element, seen: [], missed: null, mutated: false, types: options.types };
  const outer = [element];
  for (let at = root; at && at.host; at = at.host.getRootNode()) outer.push(at.host);
  watch.listener = (event) => {
    if (event.type === "click") watch.click = clickOf(event);
    if (!event.isTrusted) return;
    const hit = event.composedPath()[0];
    const ok = reaches(hit, element) || outer.includes(hit);
    if (!ok && options.guard && (event.type === "mousedown" || event.type === "pointerdown")) { watch.missed = describe(hit); event.preventDefault(); event.stopImmediatePropagation(); watch.blocked = true; return; }
    if (watch.blocked) { event.preventDefault(); event.stopImmediatePropagation(); return; }
    if (ok || !options.guard) watch.seen.push(event.type);
  };
  for (const type of ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "dblclick", "contextmenu", "auxclick", "mousemove"]) if (type !== "mousemove" || options.hover) addEventListener(type, watch.listener, true);
  watch.observer = new MutationObserver(() => { watch.mutated = true; });
  watch.observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  state.watch = watch;
  return true;
}

function disarm() {
  const watch = state.watch;
  if (!watch) return null;
  state.watch = null;
  for (const type of ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "dblclick", "contextmenu", "auxclick", "mousemove"]) removeEventListener(type, watch.listener, true);
  watch.observer.disconnect();
  return watch;
}

async function finishClick() {
  await tick();
  const watch = disarm();
  if (!watch) return { lost: true };
  return { seen: watch.seen, missed: watch.missed, mutated: watch.mutated, connected: watch.element.isConnected, saves: savedBy(watch.click) };
}

async function painted() {
  await frame(); await frame();
}

function forceClick(number) {
  const element = elementOf(number);
  if (!element) return { error: "stale", ...staleReason(number) };
  if (element.disabled === true) return { error: "disabled", what: describe(element) };
  element.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
  const box = element.getBoundingClientRect();
  let click = null;
  element.addEventListener("click", (event) => { click = clickOf(event); }, { capture: true, once: true });
  element.click();
  return { x: box.left + box.width / 2, y: box.top + box.height / 2, seen: !!click, saves: savedBy(click) };
}

// For a frame inside this one: where a point of its viewport lies in ours, and whether it can be reached there.
function framePoint(number, x, y) {
  const element = elementOf(number);
  if (!element) return { error: "stale", state: "removed" };
  const place = () => {
    const box = element.getBoundingClientRect(), style = getComputedStyle(element);
    const scaleX = element.offsetWidth ? box.width / element.offsetWidth : 1, scaleY = element.offsetHeight ? box.height / element.offsetHeight : 1;
    return [box.left + (element.clientLeft + parseFloat(style.paddingLeft) + x) * scaleX, box.top + (element.clientTop + parseFloat(style.paddingTop) + y) * scaleY];
  };
  let [px, py] = place();
  if (!inView(px, py)) {
    scrollBy({ left: px < 0 || px >= innerWidth ? px - innerWidth / 2 : 0, top: py < 0 || py >= innerHeight ? py - innerHeight / 2 : 0, behavior: "instant" });
    [px, py] = place();
    if (!inView(px, py)) { element.scrollIntoView({ block: "center", inline: "center", behavior: "instant" }); [px, py] = place(); }
  }
  if (!inView(px, py)) return { error: "hidden", what: describe(element) };
  const hit = deepest(px, py);
  if (hit !== element) return { error: "covered", what: describe(element), by: describe(hit) };
  return { x: px, y: py };
}
