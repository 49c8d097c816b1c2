import { ClientError, type Connection } from '@millrace/client';
import { expect, test } from 'vitest';
import { openDomPage } from '../testing/dom-page.ts';

test('the user can retry immediately', async () => {
  const page = await openDomPage('http://localhost/');
  const { ConnectionBanner } = await import('./connection-banner.tsx');
  const error = new ClientError('unreachable', 'away');
  const connection: Connection = { state: 'retrying', failures: 3, nextTryAt: 0, error };
  let tries = 0;
  const props = { connection, onReconnect: () => {}, onRetryNow: () => tries++ };
  await page.render(<ConnectionBanner {...props} />);
  await page.click(page.find('button'));
  expect(tries).toBe(1);
});
