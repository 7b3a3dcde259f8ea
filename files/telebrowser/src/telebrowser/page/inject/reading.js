// Reading and scrolling.
function readText(number) {
  if (number === null) {
    const body = document.body || document.documentElement;
    return { text: body ? body.innerText : "" };
  }
  const element = elementOf(number);
  if (!element) return { error: "stale", ...staleReason(number) };
  if (element.tagName === "INPUT" && element.type === "password") return { text: element.value ? "(a password is filled in; it is not shown)" : "" };
  if (element.tagName === "INPUT" || element.tagName === "TEXTAREA") return { text: element.value };
  if (element.tagName === "SELECT") return { text: element.value };
  return { text: element.innerText === undefined ? element.textContent : element.innerText };
}

function hasText(wanted) {
  const body = document.body || document.documentElement;
  if (!body) return false;
  if (squash(body.innerText || "").includes(wanted)) return true;
  for (const root of allRoots().slice(1)) if (squash([...root.childNodes].map((node) => (node.nodeType === 1 ? node.innerText || "" : node.nodeType === 3 ? node.data : "")).join(" ")).includes(wanted)) return true;
  return false;
}

function check(selector, text) {
  let found = null;
  if (selector !== null) {
    found = select(selector);
    if (!found || !isVisible(found)) return { ok: false };
  }
  return { ok: text === null || (found ? squash(readText_(found)).includes(text) : hasText(text)) };
}
const readText_ = (element) => (element.tagName === "INPUT" && element.type !== "password" || element.tagName === "TEXTAREA" ? element.value : element.innerText || element.textContent || "");

// What moves when a person turns the wheel: the page, or the largest scroller on it when the page itself does not scroll.
function scroller() {
  const page = document.scrollingElement || document.documentElement;
  if (page.scrollHeight > page.clientHeight + 1 || page.scrollWidth > page.clientWidth + 1) return page;
  let best = page, area = 0;
  for (const element of document.querySelectorAll("*")) {
    if (element.scrollHeight <= element.clientHeight + 1 && element.scrollWidth <= element.clientWidth + 1) continue;
    const style = getComputedStyle(element);
    if (!/auto|scroll/.test(style.overflowY + style.overflowX)) continue;
    const size = element.clientWidth * element.clientHeight;
    if (size > area) { best = element; area = size; }
  }
  return best;
}

async function scroll(options) {
  let target = scroller();
  if (options.number !== null) {
    const element = elementOf(options.number);
    if (!element) return { error: "stale", ...staleReason(options.number) };
    element.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
    await frame(); await frame();
    const box = element.getBoundingClientRect();
    return { ...position(target), inViewport: box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth };
  }
  const before = position(target);
  if (options.x !== null) target.scrollTo({ left: options.x, top: options.y, behavior: "instant" });
  else {
    const page = target === (document.scrollingElement || document.documentElement);
    const height = page ? innerHeight : target.clientHeight, width = page ? innerWidth : target.clientWidth;
    const step = options.pixels;
    const moves = { up: [0, -(step ?? height * 0.8)], down: [0, step ?? height * 0.8], left: [-(step ?? width * 0.8), 0], right: [step ?? width * 0.8, 0] };
    if (options.direction === "top") target.scrollTo({ top: 0, behavior: "instant" });
    else if (options.direction === "bottom") target.scrollTo({ top: target.scrollHeight, behavior: "instant" });
    else target.scrollBy({ left: moves[options.direction][0], top: moves[options.direction][1], behavior: "instant" });
  }
  await frame(); await frame();
  const after = position(target);
  return { ...after, moved: after.scrollX !== before.scrollX || after.scrollY !== before.scrollY, atTop: target.scrollTop <= 0, atBottom: target.scrollTop + target.clientHeight >= target.scrollHeight - 1, container: target === (document.scrollingElement || document.documentElement) ? undefined : describe(target) };
}

const position = (target) => ({ scrollX: Math.round(target.scrollLeft), scrollY: Math.round(target.scrollTop) });

// Walks down the page so that what paints only when seen is painted, and comes back.
async function revealAll(limit) {
  const page = document.scrollingElement || document.documentElement;
  const x = page.scrollLeft, y = page.scrollTop, deadline = performance.now() + limit;
  for (let at = 0; at < page.scrollHeight && performance.now() < deadline; at += Math.max(innerHeight - 40, 200)) {
    page.scrollTo({ left: x, top: at, behavior: "instant" });
    await frame();
  }
  await Promise.race([Promise.allSettled([...document.images].filter((image) => !image.complete).map((image) => image.decode().catch(() => 0))), pause(Math.max(0, Math.min(1000, deadline - performance.now())))]);
  await pause(100);
  page.scrollTo({ left: x, top: y, behavior: "instant" });
  await frame();
  return { x, y };
}

// The document, or one element of it, as it is now.
function source(number) {
  if (number) {
    const element = elementOf(number);
    return element ? { html: element.outerHTML } : { error: "stale", ...staleReason(number) };
  }
  const kind = document.doctype ? new XMLSerializer().serializeToString(document.doctype) + "\n" : "";
  return { html: kind + document.documentElement.outerHTML };
}
