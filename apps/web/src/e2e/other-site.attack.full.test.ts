import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeInChromium, sharedChromium } from './testing/needs-chromium.ts';
import { PageServer } from './testing/page-server.ts';

// The user visits a hostile page while a server without tokens runs on the same machine. This is
// the weakest configuration. Only the checks of host, origin and site protect the server.

const create = JSON.stringify({ method: 'task/create', params: { name: 'stolen' } });
const rpc = '/agents/name/builder/rpc';

/**
 * Scripts of the hostile page. `server` is the URL of the server. The result of a script is the
 * data that it could read.
 */
const vectors: readonly (readonly [string, string])[] = [
  ['reads tasks', "(await fetch(server + '/tasks')).text()"],
  ['reads tasks without CORS', "(await fetch(server + '/tasks', { mode: 'no-cors' })).text()"],
  [
    'creates a task by JSON',
    `(await fetch(server + '${rpc}', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '${create}' })).text()`,
  ],
  [
    'creates a task as text',
    `(await fetch(server + '${rpc}', { method: 'POST', mode: 'no-cors', body: '${create}' })).text()`,
  ],
  ['creates a token by a beacon', "navigator.sendBeacon(server + '/tokens', '{}') && ''"],
  [
    'creates a token by a form',
    `new Promise((done) => {
      const frame = Object.assign(document.createElement('iframe'), { name: 'target', onload: () => done('') });
      const form = Object.assign(document.createElement('form'), { method: 'post', enctype: 'text/plain', action: server + '/tokens', target: 'target' });
      form.append(Object.assign(document.createElement('input'), { name: '{"label":"', value: '"}' }));
      document.body.append(frame, form);
      form.submit();
    })`,
  ],
  [
    'follows a task',
    "new Promise((done) => { const source = new EventSource(server + '/tasks/name/stolen/stream'); source.onmessage = (event) => done(event.data); source.onerror = () => done(''); })",
  ],
  [
    'loads tasks as an image',
    "new Promise((done) => { const image = new Image(); image.onload = () => done('loaded'); image.onerror = () => done(''); image.src = server + '/tasks'; })",
  ],
  [
    'loads the API as a script',
    "new Promise((done) => { const script = document.createElement('script'); script.onload = () => done('loaded'); script.onerror = () => done(''); script.src = server + '/openapi.json'; document.body.append(script); })",
  ],
  [
    'shows the page in a frame',
    "new Promise((done) => { const frame = document.createElement('iframe'); frame.onload = () => { try { done(frame.contentDocument?.body?.innerText ?? ''); } catch { done(''); } }; frame.src = server + '/'; document.body.append(frame); })",
  ],
];

describeInChromium()('a hostile page', () => {
  let server: PageServer;
  let evil: Server;
  let browser: Browser;
  beforeAll(async () => {
    server = await PageServer.start();
    evil = createServer((_request, response) => {
      response.setHeader('content-type', 'text/html');
      response.end('<!doctype html><title>Free flights</title><body></body>');
    }).listen(0);
    await once(evil, 'listening');
    browser = await sharedChromium();
  });
  afterAll(async () => {
    evil?.close();
    evil?.closeAllConnections();
    await server?.close();
  });

  test.each(
    ['127.0.0.1', 'localhost'].flatMap((host) =>
      vectors.map(([what, script]) => [host, what, script] as const),
    ),
  )('attack 8: on another port of %s %s and learns nothing', async (host, _what, script) => {
    const context = await browser.newContext();
    try {
      const page = await context.newPage();
      const accepted: string[] = [];
      page.on('response', (response) => {
        const isServer = response.url().startsWith(server.url);
        const isPublic = /\/(?:openapi\.json)?$/.test(new URL(response.url()).pathname);
        if (isServer && !isPublic && response.status() < 400) accepted.push(response.url());
      });
      await page.goto(`http://${host}:${(evil.address() as AddressInfo).port}/`);
      const learned = await page.evaluate(
        `(async (server) => ${script})(${JSON.stringify(server.url)}).catch(() => '')`,
      );
      expect([learned, accepted]).toEqual(['', []]);
      const tasks = await fetch(`${server.url}/tasks`);
      expect(await tasks.json()).toEqual([]);
      expect(await (await fetch(`${server.url}/tokens`)).json()).toEqual([]);
    } finally {
      await context.close();
    }
  });
});
