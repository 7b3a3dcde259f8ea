// The one object that the engine calls.
globalThis.__telebrowser = {
  snapshot, elementList, adopt, prepareClick, finishClick, painted, disarm, forceClick, framePoint, prepareType, selectTyped, finishType, readText, check, scroll, revealAll, suspects,
  fileTarget, fileInputOf, onlyFileInput, fileInputs, armUpload, finishUpload, source,
  addClosedRoot(root) { const fresh = !closedRoots.has(root.host); closedRoots.set(root.host, root); return fresh; },
  addElement(element, next) { state.next = next; const number = numbers.get(element) || refOf(element, roleOf(element), ""); return { number, next: state.next }; },
  elementFor(number) { return elementOf(number); },
  stale: staleReason,
  info() { const entry = performance.getEntriesByType("navigation")[0]; return { url: location.href, title: document.title, ready: document.readyState, status: entry ? entry.responseStatus : 0, type: document.contentType, count: document.getElementsByTagName("*").length }; },
};
