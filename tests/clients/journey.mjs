// What the journeys share: named steps with a deadline each, and one JSON report on the last line of the output.

import assert from 'node:assert/strict';

export const place = JSON.parse(process.env.JOURNEY);
export { assert };

const STEP_SECONDS = 20;
const report = { done: {}, failed: {} };

export async function step(name, work) {
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`no end within ${STEP_SECONDS} s`)), STEP_SECONDS * 1000); });
  const began = performance.now();
  try {
    report.done[name] = (await Promise.race([work(), late])) ?? null;
  } catch (error) {
    report.failed[name] = String(error?.stack ?? error).slice(0, 1500);
  } finally {
    clearTimeout(timer);
  }
  console.error(`${name}: ${Math.round(performance.now() - began)} ms${name in report.failed ? ' FAILED' : ''}`);
}

// Something that another party does in its own time.
export async function until(check, what) {
  const end = Date.now() + 10000;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > end) throw new Error(`not within 10 s: ${what}`);
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}

export function finish() {
  console.log(JSON.stringify(report));
  process.exit(0);
}

export function isPng(bytes) {
  assert.equal(Buffer.from(bytes).subarray(1, 4).toString(), 'PNG');
  assert.ok(bytes.length > 500, `a picture of ${bytes.length} bytes`);
}
