import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import {
  type DraftRecord,
  encodeRecord,
  itemId,
  type JsonObject,
  type JsonValue,
  partId,
  sessionId,
} from '@millrace/core';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../contract/clock.ts';
import { LogError } from '../contract/log-error.ts';
import {
  answer,
  marker,
  turnFinished,
  turnStarted,
  wholeItem,
  wholeTurn,
} from '../suite/drafts.ts';
import { type SqliteLog, sqliteLog } from './sqlite-log.ts';

const session = sessionId('s');
let folder: string;
let path: string;
let log: SqliteLog;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'encoding-'));
  path = join(folder, 'log.db');
  log = sqliteLog({ path, commitIntervalMs: 0 });
});
afterEach(async () => {
  await log.close();
  rmSync(folder, { recursive: true });
});

const vocabulary = [
  'The',
  ' cold',
  ' wind',
  ' came',
  ',',
  ' and',
  ' the',
  ' storm',
  ' ended',
  '.\n',
];

/** Appends this many tokens in small batches, like the reads of a provider stream. */
async function stream(tokens: number, perRead: number): Promise<void> {
  const driver = await log.open(session);
  const text = Array.from(
    { length: tokens },
    (_, index) => vocabulary[index % vocabulary.length] ?? '',
  );
  const drafts = answer(1, text);
  await driver.append([turnStarted(1)]);
  for (let at = 0; at < drafts.length; at += perRead)
    await driver.append(drafts.slice(at, at + perRead));
  await driver.append([turnFinished(1)]);
  await driver.release();
}

async function recordsOf(of = session) {
  return (await log.read(of, { maxBytes: Number.POSITIVE_INFINITY })).records;
}

describe('a token', () => {
  test.each([
    [1, 0.8],
    [6, 0.3],
    [40, 0.15],
  ])('in reads of %i needs less than %f of the size of its JSON line', async (perRead, share) => {
    await log.checkpoint();
    const { size: empty } = statSync(path);
    await stream(4000, perRead);
    await log.checkpoint();
    const lines = (await recordsOf()).reduce(
      (sum, record) => sum + encodeRecord(record).length + 1,
      0,
    );
    expect((statSync(path).size - empty) / lines).toBeLessThan(share);
  });
});

describe('a row that was changed from outside', () => {
  /** Changes the file as another program would. */
  function meddle(sql: string, ...values: readonly SQLInputValue[]): void {
    const database = new DatabaseSync(path);
    try {
      expect(Number(database.prepare(sql).run(...values).changes)).toBeGreaterThan(0);
    } finally {
      database.close();
    }
  }

  async function expectCorrupt(run: Promise<unknown>, place: object): Promise<void> {
    const error = await run.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LogError);
    expect(error).toMatchObject({ code: 'corrupt', place });
  }

  beforeEach(async () => {
    const driver = await log.open(session);
    for (const turn of [1, 2, 3]) await driver.append(wholeTurn(turn, ['a', 'b']));
    await driver.release();
  });

  test.each([
    ['another letter', `UPDATE chunks SET body = replace(body, '"a"', '"x"') WHERE first = 9`],
    ['another sum', 'UPDATE chunks SET sum = sum + 1 WHERE first = 9'],
    ['nothing in it', `UPDATE chunks SET body = '' WHERE first = 9`],
    ['another beginning', 'UPDATE chunks SET first = 10 WHERE first = 9'],
    ['another end', 'UPDATE chunks SET last = 15 WHERE first = 9'],
    [
      'another’s content',
      'UPDATE chunks SET body = (SELECT body FROM chunks WHERE first = 1) WHERE first = 9',
    ],
    ['no place any more', 'DELETE FROM chunks WHERE first = 9'],
  ])('is detected if it has %s, and earlier rows can be read', async (_what, sql) => {
    meddle(sql);
    await expectCorrupt(recordsOf(), { session, offset: expect.any(Number) });
    const { records } = await log.read(session, { maxBytes: 1 });
    expect(records.map(({ offset }) => offset)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    await expectCorrupt(log.read(session, { from: 8, maxBytes: 1 }), { session });
  });

  test('is detected if the last row is missing', async () => {
    meddle('DELETE FROM chunks WHERE first = 17');
    await expectCorrupt(recordsOf(), { session, offset: 17 });
    await expectCorrupt(log.read(session, { from: 16 }), { session, offset: 17 });
    const batches = log.follow(session)[Symbol.asyncIterator]();
    await expectCorrupt(
      (async () => {
        for (;;) await batches.next();
      })(),
      { session },
    );
  });

  test.each([
    'through = 3',
    'epoch = 7',
    'is_closed = 1',
    `open_work = '["run r"]'`,
    `origin = '{}'`,
    `lease = '{'`,
  ])('is detected in a session with %s', async (change) => {
    meddle(`UPDATE log_sessions SET ${change}`);
    await expectCorrupt(log.info(session), { session });
    await expectCorrupt(log.open(session), { session });
    expect(await log.list()).toMatchObject([{ session, isDamaged: true, through: 0 }]);
    expect(await log.list({ isWaiting: true })).toEqual([]);
  });

  test('is detected in a command, a producer or a blob', async () => {
    const driver = await log.open(session);
    await log.submit(session, {}, 'key');
    const admission = await driver.admit({ for: 'request', turn: 4 });
    const { hash } = await log.blobs.put(Uint8Array.of(1, 2, 3));
    meddle('UPDATE commands SET offset = 1');
    meddle(`UPDATE producers SET state = replace(state, '"attempt":0', '"attempt":8')`);
    meddle('UPDATE blobs SET bytes = ?', Uint8Array.of(1, 2, 4));
    await expectCorrupt(log.submit(session, {}, 'key'), { session });
    await expectCorrupt(log.produce(admission), { session });
    await expectCorrupt(log.blobs.get(hash), { hash });
  });

  test('21.D: is detected in a piece of a blob, and slices of the other pieces do not read it', async () => {
    const bytes = new Uint8Array(3 * 2 ** 18 + 5).fill(7);
    const { hash } = await log.blobs.put(bytes);
    meddle('UPDATE blob_pieces SET bytes = ? WHERE piece = 1', Uint8Array.of(1));
    expect(await log.blobs.slice(hash, 10, 20)).toEqual(bytes.slice(10, 20));
    expect(await log.blobs.slice(hash, 3 * 2 ** 18, 2 ** 22)).toEqual(bytes.slice(0, 5));
    await expectCorrupt(log.blobs.slice(hash, 2 ** 18, 2 ** 18 + 1), { hash });
    await expectCorrupt(log.blobs.get(hash), { hash });
    meddle('DELETE FROM blob_pieces WHERE piece = 3');
    await expectCorrupt(log.blobs.slice(hash, 3 * 2 ** 18, 2 ** 22), { hash });
  });

  test('does not affect other sessions', async () => {
    meddle('DELETE FROM chunks WHERE first = 1');
    const other = await log.open(sessionId('other'));
    const drafts: readonly DraftRecord[] = wholeItem('i', { kind: 'text', text: 'fine' });
    expect((await other.append(drafts)).records).toHaveLength(3);
  });
});

describe('unreadable records are not stored', () => {
  const item = itemId('i');
  const part = partId(0, 0, 'p');
  const draft = (body: object): DraftRecord => ({ turn: 0, attempt: 0, ...body }) as DraftRecord;
  const append = (fields: object) =>
    draft({ delta: { type: 'append_text', partId: part, at: 0, chunk: 'a', ...fields } });

  test.each<[string, DraftRecord]>([
    ['a chunk that is no text', append({ chunk: 7 })],
    ['a chunk that is too long', append({ chunk: 'x'.repeat(9 * 2 ** 20) })],
    ['a place that is none', append({ at: -1 })],
    ['an id that is none', append({ partId: 'p' })],
    ['a turn that is none', { ...append({}), turn: Number.NaN }],
    ['an attempt that is none', { ...append({}), attempt: 0.5 }],
    ['neither', draft({})],
    ['a fact without what it needs', draft({ fact: { type: 'item_started', itemId: item } })],
    [
      'a value that JSON cannot represent',
      draft({ delta: { type: 'replace_structured', partId: part } }),
    ],
    ['a circular value', draft({ fact: { type: 'command_queued', key: 'k', command: round() } })],
    [
      'a value that is nested too deeply',
      draft({ fact: { type: 'command_queued', key: 'k', command: deep() } }),
    ],
  ])('%s', async (_what, bad) => {
    const driver = await log.open(session);
    await driver.append([marker('before')]);
    await expectCode(driver.append([marker('with it'), bad]), 'bad_records');
    const next = await log.open(session, { takeOver: true });
    await next.append([marker('after')]);
    expect(await recordsOf()).toMatchObject([
      { fact: { to: 'before' } },
      { fact: { to: 'after' } },
    ]);
  });

  test('neither are unreadable commands and reasons', async () => {
    await expectCode(log.submit(session, round(), 'key'), 'bad_records');
    const driver = await log.open(session);
    await driver.append(wholeItem('i', { kind: 'text', text: 'kept' }));
    await expectCode(log.redact(session, item, 'x'.repeat(9 * 2 ** 20)), 'bad_records');
    expect(JSON.stringify(await recordsOf())).toContain('kept');
  });

  test('but any clock value is accepted', async () => {
    for (const time of [1.5, -7]) {
      const odd = sqliteLog({
        path,
        commitIntervalMs: 0,
        clock: { ...systemClock, now: () => time },
      });
      const driver = await odd.open(sessionId(`${time}`), { leaseMs: Number.POSITIVE_INFINITY });
      await driver.append([marker('a')]);
      await odd.close();
      expect(await recordsOf(sessionId(`${time}`))).toHaveLength(1);
    }
  });

  function round(): JsonObject {
    const value: Record<string, JsonValue> = {};
    value['self'] = value as JsonObject;
    return value;
  }

  function deep(): JsonObject {
    let value: JsonObject = {};
    for (let level = 0; level < 200; level++) value = { value };
    return value;
  }

  async function expectCode(run: Promise<unknown>, code: string): Promise<void> {
    const error = await run.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LogError);
    expect(error).toMatchObject({ code, place: { session } });
  }
});
