// playwright-core (connectOverCDP), through the session's HTTP address and then through its WebSocket address.

import { existsSync, readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { assert, finish, isPng, place, step, until } from './journey.mjs';

let browser, context, page;

await step('connect by http', async () => {
  const first = await chromium.connectOverCDP(place.http);
  assert.deepEqual(first.contexts()[0].pages().map(one => one.url()), ['about:blank']);
  await first.close();
});

await step('connect by ws', async () => {
  browser = await chromium.connectOverCDP(place.ws);
  [context] = browser.contexts();
  assert.deepEqual(context.pages().map(one => one.url()), ['about:blank']);
});

await step('new tab', async () => {
  page = await context.newPage();
  await page.goto(place.start);
  assert.equal(await page.title(), 'start');
  await page.click('#press');
  assert.equal(await page.textContent('#press'), 'pressed');
  await page.fill('#text', 'hello');
  assert.equal(await page.inputValue('#text'), 'hello');
  const second = await context.newPage();
  await second.goto(place.start + '?second');
  assert.equal(context.pages().length, 3);
  await second.close();
});

await step('popup and popup of a popup', async () => {
  const [popup] = await Promise.all([page.waitForEvent('popup'), page.click('#popup')]);
  await popup.waitForLoadState();
  assert.equal(await popup.title(), 'popup 1');
  const [deeper] = await Promise.all([popup.waitForEvent('popup'), popup.click('#popup')]);
  await deeper.waitForLoadState();
  assert.equal(await deeper.title(), 'popup 2');
  await deeper.click('#press');
  assert.equal(await deeper.textContent('#press'), 'pressed');
  isPng(await deeper.screenshot());
  await popup.close();
  assert.equal(await deeper.title(), 'popup 2');
  await deeper.close();
});

await step('an init script runs in the first document of a popup', async () => {
  await context.addInitScript(() => { window.early = 'early'; });
  for (let number = 0; number < 3; number++) {
    const [popup] = await Promise.all([page.waitForEvent('popup'), page.click('#popup')]);
    await popup.waitForLoadState();
    // Chromium keeps the window of the first blank document for the first page of the same origin, and the script's mark with it.
    assert.equal(await popup.evaluate(() => window.seenByScript), 'early');
    await popup.close();
  }
});

await step('an init script runs in the first document of a linked tab without an opener', async () => {
  const [other] = await Promise.all([context.waitForEvent('page'), page.click('#blank')]);
  await other.waitForLoadState();
  assert.equal(await other.evaluate(() => window.seenByScript), 'early');
  await other.close();
});

await step('a route catches the first request of a popup', async () => {
  await context.route('**/popup-1.html', route => route.fulfill({ contentType: 'text/html', body: '<title>made up</title>' }));
  const [popup] = await Promise.all([page.waitForEvent('popup'), page.click('#popup')]);
  await popup.waitForLoadState();
  assert.equal(await popup.title(), 'made up');
  await context.unroute('**/popup-1.html');
  await popup.close();
});

await step('ctrl-click', async () => {
  const [other] = await Promise.all([context.waitForEvent('page'), page.click('#ctrl', { modifiers: ['Control'] })]);
  await other.waitForLoadState();
  assert.equal(await other.title(), 'start');
  await other.close();
});

await step('cross-origin iframe', async () => {
  await page.goto(place.frames);
  const button = page.frameLocator('iframe').locator('#press');
  await button.click();
  assert.equal(await button.textContent(), 'pressed');
  const [popup] = await Promise.all([page.waitForEvent('popup'), page.frameLocator('iframe').locator('#popup').click()]);
  await popup.close();
});

await step('service worker', async () => {
  await page.goto(place.worker);
  assert.equal(await page.evaluate(() => navigator.serviceWorker.ready.then(() => 'ready')), 'ready');
  await page.reload();
  assert.equal(await page.evaluate(() => fetch('/from-worker').then(answer => answer.text())), 'from the worker');
});

await step('dedicated worker', async () => {
  await page.goto(place.start);
  const [worker] = await Promise.all([
    page.waitForEvent('worker'),
    page.evaluate(() => { window.w = new Worker(URL.createObjectURL(new Blob(['self.answer = 42']))); }),
  ]);
  await until(async () => await worker.evaluate(() => self.answer) === 42, 'the worker has its answer');
});

await step('upload', async () => {
  // On a connection over CDP Playwright sends the content of small files itself.
  await page.setInputFiles('#file', place.upload);
  assert.equal(await page.$eval('#file', node => node.files[0].text()), 'uploaded text');
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.click('#file')]);
  await chooser.setFiles({ name: 'made.txt', mimeType: 'text/plain', buffer: Buffer.from('made up') });
  assert.equal(await page.$eval('#file', node => node.files[0].text()), 'made up');
});

await step('download', async () => {
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#download')]);
  assert.equal(download.suggestedFilename(), 'own.txt');
  await until(() => existsSync(`${place.downloads}/own.txt`), 'the file has its name in the project\'s folder');
  assert.equal(readFileSync(`${place.downloads}/own.txt`, 'utf8'), 'downloaded text');
  assert.equal(await download.failure(), null);
});

await step('dialogs', async () => {
  const seen = [];
  page.on('dialog', dialog => {
    seen.push(`${dialog.type()} ${dialog.message()}`);
    return dialog.type() === 'prompt' ? dialog.accept('typed') : dialog.accept();
  });
  await page.click('#dialogs');
  assert.equal(await page.textContent('#dialogs'), 'true typed');
  assert.deepEqual(seen, ['alert one', 'confirm two', 'prompt three']);
  await page.evaluate(() => { window.onbeforeunload = event => event.preventDefault(); });
  await page.click('#press');
  await page.goto(place.start);
  assert.equal(seen.at(-1).split(' ')[0], 'beforeunload');
});

await step('screenshots in the background', async () => {
  for (let number = 0; number < 4; number++) isPng(await page.screenshot());
  isPng(await page.screenshot({ fullPage: true }));
  isPng(await page.locator('#press').screenshot());
  assert.ok((await page.pdf()).length > 1000);
});

await step('animation frames in the background', async () => {
  const frames = await page.evaluate(() => new Promise(resolve => {
    let count = 0;
    const next = () => ++count === 20 ? resolve(count) : requestAnimationFrame(next);
    requestAnimationFrame(next);
  }));
  assert.equal(frames, 20);
});

await step('cookies', async () => {
  await context.addCookies([{ name: 'crumb', value: 'pw', domain: '127.0.0.1', path: '/' }]);
  await page.goto(place.cookies);
  assert.match(await page.textContent('p'), /crumb=pw/);
  assert.equal((await context.cookies()).find(one => one.name === 'crumb').value, 'pw');
});

await step('clearing one cookie', async () => {
  await context.clearCookies({ name: 'crumb' }).catch(error => assert.match(String(error), /not allowed/));
});

await step('resize', async () => {
  await page.setViewportSize({ width: 555, height: 444 });
  assert.deepEqual(await page.evaluate(() => [innerWidth, innerHeight]), [555, 444]);
});

await step('route', async () => {
  await page.route('**/*?routed', route => route.fulfill({ contentType: 'text/html', body: '<title>made up</title>' }));
  await page.goto(place.start + '?routed');
  assert.equal(await page.title(), 'made up');
  await page.unrouteAll();
});

await step('Chromium trace', async () => {
  await browser.startTracing(page);
  await page.goto(place.start);
  assert.ok(JSON.parse((await browser.stopTracing()).toString()).traceEvents.length > 10);
});

await step('Playwright trace', async () => {
  await context.tracing.start({ screenshots: true, snapshots: true });
  await page.goto(place.start);
  await page.click('#press');
  await context.tracing.stop({ path: `${place.home}/trace.zip` });
  assert.ok(readFileSync(`${place.home}/trace.zip`).length > 1000);
});

await step('CDP session of a page', async () => {
  const session = await context.newCDPSession(page);
  const { result } = await session.send('Runtime.evaluate', { expression: '6*7' });
  assert.equal(result.value, 42);
  await session.detach();
});

await step('CDP session of the browser', async () => {
  const session = await browser.newBrowserCDPSession();
  const { targetInfos } = await session.send('Target.getTargets');
  assert.ok(targetInfos.length >= 2);
  await assert.rejects(session.send('Browser.crash'), /not allowed/);
  await session.detach();
});

await step('a context of its own is refused', async () => {
  await assert.rejects(browser.newContext(), /not allowed/);
});

await step('close', async () => {
  await browser.close();
  assert.equal(browser.isConnected(), false);
});

finish();
