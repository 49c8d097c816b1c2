import { expect, test } from 'vitest';
import { openDomPage } from '../../../../packages/react/src/testing/dom-page.ts';
import { tokenProblem } from './browser-storage.ts';

test.each(['snow☃man', 'two\nlines', 'smart “quotes”', '\u0000'])(
  'a token that no request can carry is rejected with a reason: %j',
  (token) => {
    expect(() => new Headers({ authorization: `Bearer ${token}` })).toThrow();
    expect(tokenProblem(token)).toMatch(/^(?:“.”|U\+[0-9A-F]{4})$/u);
  },
);

test.each(['abc', 'a-b_c.d~e+f/g==', 'naïve'])('%j is accepted', (token) => {
  expect(new Headers({ authorization: `Bearer ${token}` }).has('authorization')).toBe(true);
  expect(tokenProblem(token)).toBeUndefined();
});

test('the dialog shows the reason and stores nothing', async () => {
  const page = await openDomPage('http://localhost/');
  const accepted: string[] = [];
  const { TokenDialog } = await import('./token-dialog.tsx');
  await page.render(<TokenDialog onToken={(token) => accepted.push(token)} />);
  await page.type(page.find('input'), 'snow☃man');
  await page.submit(page.find('form'));
  expect(accepted).toEqual([]);
  expect(page.find('[role=alert]').textContent).toMatch(/cannot be sent/);
  await page.type(page.find('input'), ' fine ');
  await page.submit(page.find('form'));
  expect(accepted).toEqual(['fine']);
});
