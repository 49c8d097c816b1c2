import { sessionId } from '@millrace/core';
import { expect, test } from 'vitest';
import { marker, markers, wholeItem } from '../suite/drafts.ts';
import { Follower } from '../suite/follower.ts';
import { TestClock } from '../suite/index.ts';
import { durableObjectStorage } from '../testing/durable-object-storage.ts';
import { type DurableObjectLogOptions, durableObjectLog } from './durable-object-log.ts';

const session = sessionId('s');

const memoryStorage = () => durableObjectStorage(':memory:');

test.each<[string, object]>([
  ['an unknown option', { ...memoryStorage(), path: 'x' }],
  ['no storage', {}],
  ['a storage without SQLite', { storage: { get: () => undefined } }],
])('%s is refused', (_, options) => {
  const open = () => durableObjectLog(options as DurableObjectLogOptions);
  expect(open).toThrow(expect.objectContaining({ code: 'bad_option' }));
});

test('tables of a later version are refused', async () => {
  const { storage } = memoryStorage();
  await durableObjectLog({ storage }).close();
  storage.sql.exec("UPDATE millrace_meta SET value = 3 WHERE name = 'version'");
  expect(() => durableObjectLog({ storage })).toThrow(expect.objectContaining({ code: 'too_new' }));
});

test('the tables of the application stay as they are', async () => {
  const { storage, database } = memoryStorage();
  database.exec('CREATE TABLE sessions (id INTEGER); INSERT INTO sessions VALUES (7)');
  const log = durableObjectLog({ storage });
  await (await log.open(session)).append(markers(2));
  await log.delete(session);
  await log.close();
  expect(database.prepare('SELECT id FROM sessions').all()).toEqual([{ id: 7 }]);
});

test('a follower of one log receives what another log of the object writes', async () => {
  const { storage } = memoryStorage();
  const [one, other] = [durableObjectLog({ storage }), durableObjectLog({ storage })];
  const driver = await one.open(session);
  await driver.append([marker('first')]);
  const follower = await new Follower(other, session).reach(1);
  const next = follower.reach(2);
  await driver.append([marker('second')]);
  await next;
  await Promise.all([one.close(), other.close()]);
});

test('an error of SQLite is a storage error, and nothing of the transaction is stored', async () => {
  const { storage, database } = memoryStorage();
  const log = durableObjectLog({ storage });
  const driver = await log.open(session);
  await driver.append(markers(2));
  database.exec('DROP TABLE millrace_chunks');
  await expect(driver.append(markers(1))).rejects.toEqual(
    expect.objectContaining({ code: 'storage' }),
  );
  expect((await log.info(session))?.through).toBe(2);
  await log.close();
});

test('a vacuum deletes blobs that nothing references after a day', async () => {
  const { storage } = memoryStorage();
  const clock = new TestClock();
  const log = durableObjectLog({ storage, clock });
  const used = await log.blobs.put(Uint8Array.of(1));
  const unused = await log.blobs.put(Uint8Array.of(2));
  const source = { type: 'blob', hash: used.hash, length: 1 } as const;
  const part = { kind: 'media', mimeType: 'image/png', source } as const;
  await (await log.open(session)).append(wholeItem('i', part));
  expect(await log.vacuum()).toBe(0);
  clock.jump(25 * 3_600_000);
  expect(await log.vacuum()).toBe(1);
  expect(await log.blobs.get(used.hash)).toEqual(Uint8Array.of(1));
  expect(await log.blobs.get(unused.hash)).toBeUndefined();
  await log.close();
});
