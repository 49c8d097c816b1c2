import { sessionId } from '@millrace/core';
import { expect, test } from 'vitest';
import { type IndexedDbLogOptions, indexedDbLog } from './indexeddb-log.ts';

test.each<[string, object]>([
  ['an unknown option', { database: 'x' }],
  ['an empty name', { name: '' }],
  ['a negative interval', { commitIntervalMs: -1 }],
  ['polling without a pause', { pollIntervalMs: 0 }],
  ['an unknown durability', { durability: 'disk' }],
])('%s is refused', (_, options) => {
  const open = () => indexedDbLog(options as IndexedDbLogOptions);
  expect(open).toThrow(expect.objectContaining({ code: 'bad_option' }));
});

test('a misspelt option is refused with the one that was meant', () => {
  const open = () => indexedDbLog({ durabillity: 'power' } as IndexedDbLogOptions);
  expect(open).toThrow('there is no option durabillity. Did you mean durability?');
});

test('a runtime without IndexedDB gets an error that names another way', async () => {
  const log = indexedDbLog();
  const message = expect.stringMatching(/no indexedDB.*Use another log/) as string;
  const refusal = expect.objectContaining({ code: 'storage', message }) as Error;
  await expect(log.info(sessionId('s'))).rejects.toEqual(refusal);
  await expect(log.open(sessionId('s'))).rejects.toEqual(refusal);
  await log.close();
});
