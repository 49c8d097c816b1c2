import { expect, onTestFinished, test, vi } from 'vitest';
import { openDomPage } from '../../../../packages/react/src/testing/dom-page.ts';
import { writeToken } from './browser-storage.ts';
import { shareToken } from './token-sharing.ts';

// A proxy serves the page of Millrace and another program at the same origin. A script of the other program
// asks the tabs of Millrace for their token.

/** Opens a page that is signed in, and returns the answers to requests of another program. */
async function answersAt(base: string): Promise<readonly unknown[]> {
  const { window } = await openDomPage(`http://page.test${base}/`);
  Object.assign(globalThis, { sessionStorage: window.sessionStorage });
  vi.stubGlobal('window', window);
  onTestFinished(() => {
    vi.unstubAllGlobals();
    Reflect.deleteProperty(globalThis, 'sessionStorage');
  });
  writeToken('mr_secret');
  shareToken(base);
  const other = new BroadcastChannel('millrace:token');
  const control = new BroadcastChannel('millrace:token');
  onTestFinished(() => {
    other.close();
    control.close();
  });
  const answers: unknown[] = [];
  const ended = new Promise<void>((resolve) => {
    other.addEventListener('message', (event) => {
      const { data } = event as unknown as { readonly data?: { readonly type: string } };
      answers.push(data);
      // The last message comes after an answer of the page.
      if (data?.type === 'end') resolve();
    });
  });
  control.addEventListener('message', (event) => {
    const { data } = event as unknown as { readonly data?: { readonly type: string } };
    if (data?.type === 'request') setImmediate(() => control.postMessage({ type: 'end' }));
  });
  other.postMessage({ type: 'request' });
  await ended;
  return answers;
}

test('18.152: attack: with a base path, the page gives its token to nobody of its origin', async () => {
  expect(await answersAt('/agents')).toEqual([{ type: 'end' }]);
});

test('18.152: without a base path, the tabs of the page share the token', async () => {
  expect(await answersAt('')).toContainEqual({ type: 'token', token: 'mr_secret' });
});
