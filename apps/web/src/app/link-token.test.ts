import { expect, onTestFinished, test } from 'vitest';
import { openDomPage } from '../../../../packages/react/src/testing/dom-page.ts';
import {
  isOpenedHere,
  linkQuestion,
  readToken,
  takeLinkToken,
  writeToken,
} from './browser-storage.ts';

/** Opens a browser with empty storage. Returns a function that opens a link in a tab of this browser. */
async function openBrowser() {
  const { window } = await openDomPage('http://page.test/');
  const { localStorage, sessionStorage } = window;
  onTestFinished(() => {
    Reflect.deleteProperty(globalThis, 'sessionStorage');
    Reflect.deleteProperty(globalThis, 'localStorage');
    linkQuestion.ask(undefined);
  });
  Object.assign(globalThis, { localStorage, sessionStorage });
  return {
    open(link: string, isOwnLink = true, isNewTab = true) {
      if (isNewTab) sessionStorage.clear();
      const location = new URL(link, 'http://page.test');
      let shown = location.href;
      const replaceState = (_: unknown, __: string, to: string | URL | null = '') => {
        shown = new URL(to ?? '', location).href;
      };
      takeLinkToken({ location, history: { state: null, replaceState } }, isOwnLink);
      return shown;
    },
  };
}

test.each([
  ['/#token=mr_abc-DEF_1', 'mr_abc-DEF_1', '/'],
  ['/app/tasks/t?at=4#token=a%2Bb', 'a+b', '/app/tasks/t?at=4'],
  ['/#token=snow%E2%98%83man', '', '/'],
  ['/#token=%zz', '%zz', '/'],
  ['/#token=', '', '/#token='],
  ['/#other=1', '', '/#other=1'],
  ['/app/overview', '', '/app/overview'],
])('the link %s gives the token %j and leaves the address %s', async (link, token, address) => {
  const browser = await openBrowser();
  expect(browser.open(link)).toBe(`http://page.test${address}`);
  expect(readToken()).toBe(token);
  expect(linkQuestion.token).toBeUndefined();
});

test('18.218: attack: a link replaces the token of its tab without a question', async () => {
  const browser = await openBrowser();
  browser.open('/#token=own');
  expect(browser.open('/#token=evil', true, false)).toBe('http://page.test/');
  expect([readToken(), linkQuestion.token]).toEqual(['own', 'evil']);
});

test('18.219: attack: a link signs a new tab in with another token than the other tabs', async () => {
  const browser = await openBrowser();
  browser.open('/#token=own');
  browser.open('/app/tasks/t#token=evil');
  expect([readToken(), linkQuestion.token]).toEqual(['', 'evil']);
});

const timing = (name?: string) => [
  { workerStart: 0, serverTiming: name === undefined ? [] : [{ name: 'cache' }, { name }] },
];

test.each([
  ['another site', timing('other-link'), 'token'],
  ['a site that the server does not report', timing(), 'token'],
  ['a site, through a service worker', [{ ...timing('own-link')[0], workerStart: 3 }], 'token'],
  ['a site, in a browser that reports no times', [], 'token'],
  ['a site, in a browser without reports of a server', [{ workerStart: 0 }], 'token'],
  ['this site, or no site,', timing('own-link'), undefined],
])('18.220: attack: %s links to a token, in a new browser', async (_, entries, asked) => {
  const browser = await openBrowser();
  const getEntriesByType = () => entries as never;
  browser.open('/#token=token', isOpenedHere({ getEntriesByType }));
  expect(linkQuestion.token).toBe(asked);
  expect(readToken()).toBe(asked === undefined ? 'token' : '');
});

test('a link with the token that this browser uses needs no question', async () => {
  const browser = await openBrowser();
  browser.open('/#token=own');
  for (const isNewTab of [true, false]) browser.open('/#token=own', false, isNewTab);
  expect([readToken(), linkQuestion.token]).toEqual(['own', undefined]);
});

test('the user confirms the token of a link once', async () => {
  const browser = await openBrowser();
  browser.open('/#token=own');
  browser.open('/#token=shared');
  writeToken(linkQuestion.token ?? '');
  linkQuestion.ask(undefined);
  browser.open('/#token=shared');
  expect([readToken(), linkQuestion.token]).toEqual(['shared', undefined]);
});

test('attack 8: the storage that all tabs share does not contain the token', async () => {
  const browser = await openBrowser();
  browser.open('/#token=mr_abc-DEF_1');
  expect(JSON.stringify({ ...localStorage })).not.toContain('mr_abc');
});
