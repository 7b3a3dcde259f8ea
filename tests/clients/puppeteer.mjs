// puppeteer-core, through the session's WebSocket address.

import { existsSync, readFileSync } from 'node:fs';
import puppeteer from 'puppeteer-core';
import { assert, finish, isPng, place, step, until } from './journey.mjs';

const browser = await puppeteer.connect({ browserWSEndpoint: place.ws, defaultViewport: null });
let page, popup;

async function opened(from, selector) {
  const next = new Promise(resolve => from.once('popup', resolve));
  await from.click(selector);
  const found = await next;
  await until(() => found.evaluate(() => document.readyState === 'complete' && location.href !== 'about:blank').catch(() => false), 'the popup is loaded');
  return found;
}

await step('starts on a page of its own', async () => {
  const pages = await browser.pages();
  assert.deepEqual(pages.map(one => one.url()), ['about:blank']);
});

await step('new tab', async () => {
  page = await browser.newPage();
  await page.goto(place.start);
  assert.equal(await page.title(), 'start');
  await page.click('#press');
  assert.equal(await page.$eval('#press', node => node.textContent), 'pressed');
  await page.type('#text', 'hello');
  assert.equal(await page.$eval('#text', node => node.value), 'hello');
  const second = await browser.newPage();
  await second.goto(place.start + '?second');
  assert.equal((await browser.pages()).length, 3);
  await second.close();
  await until(async () => (await browser.pages()).length === 2, 'the second tab is gone');
});

await step('popup and popup of a popup', async () => {
  popup = await opened(page, '#popup');
  assert.equal(await popup.title(), 'popup 1');
  assert.equal(popup.target().opener(), page.target());
  const deeper = await opened(popup, '#popup');
  assert.equal(await deeper.title(), 'popup 2');
  await deeper.click('#press');
  assert.equal(await deeper.$eval('#press', node => node.textContent), 'pressed');
  isPng(await deeper.screenshot());
  // The middle one closes; its own popup must stay within reach.
  await popup.close();
  assert.equal(await deeper.title(), 'popup 2');
  await deeper.close();
});

await step('a link for a new tab', async () => {
  const target = browser.waitForTarget(one => one.url().endsWith('?blank'));
  await page.click('#blank');
  const other = await (await target).page();
  await until(() => other.title().then(title => title === 'start').catch(() => false), 'the linked page is loaded');
  await other.close();
});

await step('ctrl-click', async () => {
  const target = browser.waitForTarget(one => one.url().endsWith('?ctrl'));
  await page.keyboard.down('Control');
  await page.click('#ctrl');
  await page.keyboard.up('Control');
  const other = await (await target).page();
  await until(() => other.title().then(title => title === 'start').catch(() => false), 'the linked page is loaded');
  await other.close();
});

await step('cross-origin iframe', async () => {
  await page.goto(place.frames);
  const frame = await until(() => page.frames().find(one => one.url().startsWith(place.other)), 'the frame is there');
  await frame.waitForSelector('#press');
  await frame.click('#press');
  assert.equal(await frame.$eval('#press', node => node.textContent), 'pressed');
  const inside = new Promise(resolve => page.once('popup', resolve));
  await frame.click('#popup');
  await (await inside).close();
});

await step('service worker', async () => {
  await page.goto(place.worker);
  assert.equal(await page.evaluate(() => navigator.serviceWorker.ready.then(() => 'ready')), 'ready');
  await page.reload();
  assert.equal(await page.evaluate(() => fetch('/from-worker').then(answer => answer.text())), 'from the worker');
});

await step('dedicated worker', async () => {
  await page.goto(place.start);
  const made = new Promise(resolve => page.once('workercreated', resolve));
  await page.evaluate(() => { window.w = new Worker(URL.createObjectURL(new Blob(['self.answer = 42']))); });
  const worker = await made;
  await until(async () => await worker.evaluate(() => self.answer) === 42, 'the worker has its answer');
});

await step('upload', async () => {
  await (await page.$('#file')).uploadFile(place.upload);
  assert.equal(await page.$eval('#file', node => node.files[0].text()), 'uploaded text');
});

await step('a file outside is refused', async () => {
  await assert.rejects((await page.$('#file')).uploadFile('/etc/passwd'), /uploads or downloads/);
});

await step('download', async () => {
  const session = await browser.target().createCDPSession();
  await session.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: '/root/elsewhere', eventsEnabled: true });
  const done = new Promise(resolve => session.on('Browser.downloadProgress', event => { if (event.state === 'completed') resolve(event); }));
  await page.click('#download');
  const { filePath } = await done;
  assert.ok(filePath.startsWith(place.downloads) && existsSync(filePath), filePath);
  assert.equal(readFileSync(filePath, 'utf8'), 'downloaded text');
  await session.detach();
});

await step('dialogs', async () => {
  const seen = [];
  page.on('dialog', async dialog => {
    seen.push(`${dialog.type()} ${dialog.message()}`);
    await (dialog.type() === 'prompt' ? dialog.accept('typed') : dialog.accept());
  });
  await page.click('#dialogs');
  assert.equal(await page.$eval('#dialogs', node => node.textContent), 'true typed');
  assert.deepEqual(seen, ['alert one', 'confirm two', 'prompt three']);
  await page.evaluate(() => { window.onbeforeunload = event => event.preventDefault(); });
  await page.click('#press');
  await page.goto(place.start);
  assert.equal(seen.at(-1).split(' ')[0], 'beforeunload');
});

await step('screenshots in the background', async () => {
  for (let number = 0; number < 4; number++) isPng(await page.screenshot());
  isPng(await page.screenshot({ fullPage: true }));
  isPng(await (await page.$('#press')).screenshot());
  assert.ok((await page.pdf()).length > 1000);
});

await step('animation frames in the background', async () => {
  const frames = await page.evaluate(() => new Promise(resolve => {
    let count = 0;
    const next = () => ++count === 20 ? resolve(count) : requestAnimationFrame(next);
    requestAnimationFrame(next);
  }));
  assert.equal(frames, 20);
  assert.equal(await page.evaluate(() => document.visibilityState), 'visible');
});

await step('cookies', async () => {
  await browser.setCookie({ name: 'crumb', value: 'pp', domain: '127.0.0.1', path: '/' });
  await page.goto(place.cookies);
  assert.match(await page.$eval('p', node => node.textContent), /crumb=pp/);
  assert.equal((await browser.cookies()).find(one => one.name === 'crumb').value, 'pp');
  await browser.deleteCookie({ name: 'crumb', value: 'pp', domain: '127.0.0.1', path: '/' });
});

await step('resize', async () => {
  await page.setViewport({ width: 555, height: 444 });
  assert.deepEqual(await page.evaluate(() => [innerWidth, innerHeight]), [555, 444]);
  await page.setViewport(null);
  await page.resize({ contentWidth: 640, contentHeight: 480 });
  await until(() => page.evaluate(() => innerWidth === 640 && innerHeight === 480), 'the contents have the size');
  await page.setViewport({ width: 800, height: 600 });
});

await step('request interception', async () => {
  await page.setRequestInterception(true);
  page.once('request', request => request.respond({ status: 200, contentType: 'text/html', body: '<title>made up</title>' }));
  await page.goto(place.start + '?intercepted');
  assert.equal(await page.title(), 'made up');
  await page.setRequestInterception(false);
});

await step('trace', async () => {
  await page.tracing.start({ screenshots: false });
  await page.goto(place.start);
  const trace = await page.tracing.stop();
  assert.ok(JSON.parse(Buffer.from(trace).toString()).traceEvents.length > 10);
});

await step('CDP session of a page', async () => {
  const session = await page.createCDPSession();
  const { result } = await session.send('Runtime.evaluate', { expression: '6*7' });
  assert.equal(result.value, 42);
  await session.detach();
});

await step('CDP session of the browser', async () => {
  const session = await browser.target().createCDPSession();
  const { targetInfos } = await session.send('Target.getTargets');
  assert.ok(targetInfos.length >= 2);
  await assert.rejects(session.send('Browser.crash'), /not allowed/);
  await session.detach();
});

await step('bring to front', async () => {
  if (!place.front) return;
  await page.bringToFront();
});

await step('a context of its own is refused', async () => {
  await assert.rejects(browser.createBrowserContext(), /not allowed/);
});

await step('close', async () => {
  assert.equal(browser.connected, true);
  await browser.close();
  assert.equal(browser.connected, false);
});

finish();
