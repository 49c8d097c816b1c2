import { expect, test } from 'vitest';
import { parseArgs } from './parse-args.ts';

test('23: a link can only read and lasts an hour by default', () => {
  expect(parseArgs(['share'])).toMatchObject({
    ...{ command: 'share', session: undefined, canWrite: false, seconds: 3600, url: undefined },
  });
  const words = ['share', 'last', '--write', '--for', '2d', '--url', 'https://laptop.example.com'];
  expect(parseArgs(words)).toMatchObject({
    ...{ session: 'last', canWrite: true, seconds: 172_800, url: 'https://laptop.example.com' },
  });
});

test.each([
  [['share', '--for', '2w'], '30m, 4h or 7d'],
  [['share', '--for', '0m'], '30m, 4h or 7d'],
  [['share', '--for', '367d'], 'at most 366d'],
  [['share', '--url', 'javascript:alert(1)'], '--url takes an address'],
  [['share', '--url', 'https://a.example/#token=x'], 'without ? and #'],
  [['share', 'one', 'two'], 'too many arguments'],
  [['attach', 'one', 'two'], 'too many arguments'],
  [['ps', 'one'], 'too many arguments'],
  [['top', 'one'], 'too many arguments'],
  [['serve', '--idle', '5'], '--idle is for serve --daemon'],
  [['serve', '--daemon', '--chain'], '--chain is not for serve --daemon'],
  [['serve', '--daemon', '--yes'], '--yes is not for serve --daemon'],
  [['serve', '--daemon', '--agents', 'a.ts'], '--agents is not for serve --daemon'],
])('23: %j is refused with the way out', (words, message) => {
  expect(() => parseArgs(words)).toThrow(message);
});

test('23: the daemon and its idle time', () => {
  expect(parseArgs(['serve', '--daemon', '--idle', '5'])).toMatchObject({
    ...{ command: 'serve', daemon: true, idleMinutes: 5 },
  });
  expect(parseArgs(['serve'])).toMatchObject({ daemon: false, idleMinutes: undefined });
});
