import { expect, test } from 'vitest';
import { openDomPage } from '../../../../packages/react/src/testing/dom-page.ts';
import { readToken, takeLinkToken } from './browser-storage.ts';

test.each([
  ['/#token=mr_abc-DEF_1', 'mr_abc-DEF_1', '/'],
  ['/app/tasks/t?at=4#token=a%2Bb', 'a+b', '/app/tasks/t?at=4'],
  ['/#token=snow%E2%98%83man', '', '/'],
  ['/#token=%zz', '%zz', '/'],
  ['/#token=', '', '/#token='],
  ['/#other=1', '', '/#other=1'],
  ['/app/overview', '', '/app/overview'],
])('the link %s gives the token %j and leaves the address %s', async (link, token, address) => {
  const { window } = await openDomPage(`http://page.test${link}`);
  Object.assign(globalThis, { sessionStorage: window.sessionStorage });
  takeLinkToken(window as unknown as Parameters<typeof takeLinkToken>[0]);
  expect(readToken()).toBe(token);
  expect(window.location.href).toBe(`http://page.test${address}`);
  Reflect.deleteProperty(globalThis, 'sessionStorage');
});
