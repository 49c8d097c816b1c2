import { expect, onTestFinished, test } from 'vitest';
import { openDomPage } from '../../../../packages/react/src/testing/dom-page.ts';

/** Returns the number of channels on which a tab gives its token, or requests a token. */
async function channelsOf(base: string, role: 'gives' | 'requests' = 'gives'): Promise<number> {
  await openDomPage('http://page.test/');
  const real = globalThis.BroadcastChannel;
  const opened: InstanceType<typeof real>[] = [];
  globalThis.BroadcastChannel = class extends real {
    constructor(name: string) {
      super(name);
      opened.push(this);
    }
  };
  onTestFinished(() => {
    globalThis.BroadcastChannel = real;
    for (const channel of opened) channel.close();
  });
  const { shareToken, requestToken } = await import('./token-sharing.ts');
  if (role === 'gives') shareToken(base);
  else requestToken(() => {}, base);
  return opened.length;
}

test('18.147: attack: another program of the same origin asks for the token', async () => {
  expect(await channelsOf('/agents')).toBe(0);
});

test('a tab gives its token to a new tab if no other program has the same origin', async () => {
  expect(await channelsOf('')).toBe(1);
});

test('18.191: attack: another program of the same origin gives a tab its own token', async () => {
  expect(await channelsOf('/agents', 'requests')).toBe(0);
});

test('a new tab requests a token if no other program has the same origin', async () => {
  expect(await channelsOf('', 'requests')).toBe(1);
});
