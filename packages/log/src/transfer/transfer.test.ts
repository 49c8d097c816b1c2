import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import {
  type DraftRecord,
  emptyState,
  foldBatch,
  type LogRecord,
  type Part,
  type SessionId,
  sessionId,
  toArray,
} from '@millrace/core';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { randomLog } from '../../../core/src/testing/random-log.ts';
import { someOf } from '../../../core/src/testing/runs.ts';
import { storeTmpdir } from '../../../core/src/testing/store-tmpdir.ts';
import type { Log } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import { memoryLog } from '../memory/memory-log.ts';
import { sqliteLog } from '../sqlite/sqlite-log.ts';
import {
  answer,
  answerId,
  answerPart,
  turnFinished,
  turnStarted,
  wholeItem,
  wholeTurn,
} from '../suite/drafts.ts';
import { TestClock } from '../suite/test-clock.ts';
import { exportSession } from './export-session.ts';
import { importSession } from './import-session.ts';
import type { LineSource } from './lines.ts';
import { exportBlobs, importBlobs } from './transfer-blobs.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(storeTmpdir(), 'transfer-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const session = sessionId('original');
const copy = sessionId('copy');

const toDraft = ({ turn, attempt, delta, fact }: LogRecord): DraftRecord =>
  delta === undefined ? { turn, attempt, fact } : { turn, attempt, delta };

async function recordsOf(log: Log, of: SessionId): Promise<readonly LogRecord[]> {
  return (await log.read(of, { maxBytes: Number.POSITIVE_INFINITY })).records;
}

async function all(lines: AsyncIterable<string>): Promise<string[]> {
  const found: string[] = [];
  for await (const line of lines) found.push(line);
  return found;
}

/** The content of a session, independent of its id. */
async function saidBy(log: Log, of: SessionId) {
  const records = await recordsOf(log, of);
  const through = records.at(-1)?.offset ?? 0;
  const { state } = foldBatch(emptyState(session), { after: 0, through, records });
  const {
    lease: _here,
    session: _name,
    incarnation: _own,
    epoch: _driven,
    ...info
  } = (await log.info(of)) ?? {};
  return { records, state, info };
}

const blobPart = (hash: string, length: number): Part => ({
  kind: 'media',
  mimeType: 'image/png',
  source: { type: 'blob', hash, length },
});

interface Plan {
  readonly numbers: readonly number[];
  readonly commands: readonly string[];
  readonly consumed: number;
  readonly blobs: readonly Uint8Array[];
  readonly settles: boolean;
  readonly redacts: number | undefined;
  readonly forkAt: number | undefined;
  readonly closes: boolean;
}

const plans: fc.Arbitrary<Plan> = fc.record({
  numbers: fc.array(fc.nat(), { maxLength: 120 }),
  commands: fc.uniqueArray(fc.string({ unit: 'binary', minLength: 1 }), { maxLength: 3 }),
  consumed: fc.nat(3),
  blobs: fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 2 }),
  settles: fc.boolean(),
  redacts: fc.option(fc.nat(), { nil: undefined }),
  forkAt: fc.option(fc.nat(), { nil: undefined }),
  closes: fc.boolean(),
});

/** Creates a session in which everything happens. Returns the id to export, which may be a fork. */
async function enact(log: Log, plan: Plan): Promise<SessionId> {
  const driver = await log.open(session);
  for (const key of plan.commands) await log.submit(session, { say: key }, key);
  await driver.append(randomLog(plan.numbers).map(toDraft));
  for (const key of plan.commands.slice(0, plan.consumed))
    await driver.append([{ turn: 0, attempt: 0, fact: { type: 'command_consumed', key } }]);
  for (const [index, bytes] of plan.blobs.entries()) {
    const { hash, length } = await log.blobs.put(bytes);
    await driver.append(wholeItem(`blob ${index}`, blobPart(hash, length)));
  }
  if (plan.settles) await settleAll(log);
  if (plan.redacts !== undefined) await redactOne(log, plan.redacts);
  if (plan.closes) await driver.closeSession();
  else await driver.release();
  return plan.forkAt === undefined ? session : forkSomewhere(log, plan.forkAt);
}

async function settleAll(log: Log): Promise<void> {
  const records = await recordsOf(log, session);
  for (const turn of new Set(records.map((record) => record.turn))) await log.settle(session, turn);
}

async function redactOne(log: Log, draw: number): Promise<void> {
  const { state } = await saidBy(log, session);
  const finished = toArray(state.items).filter((item) => item.finished !== undefined);
  const item = finished[draw % Math.max(1, finished.length)];
  // An item of an open turn cannot be redacted.
  if (item !== undefined) await unlessRefused(log.redact(session, item.id));
}

async function forkSomewhere(log: Log, draw: number): Promise<SessionId> {
  const records = await recordsOf(log, session);
  const through = records[draw % Math.max(1, records.length)]?.offset ?? 0;
  const fork = sessionId('fork');
  // A fork inside a settled turn is refused.
  await unlessRefused(log.fork(session, { into: fork, through }));
  return (await log.info(fork))?.session ?? session;
}

async function unlessRefused(done: Promise<unknown>): Promise<void> {
  await done.catch((error: unknown) => expect(error).toBeInstanceOf(LogError));
}

describe.each(['memory', 'sqlite'] as const)('import into a log of kind %s', (kind) => {
  let count = 0;
  const open: Log[] = [];
  const newLog = () => {
    const path = join(folder, `${kind}-${++count}.db`);
    const log = kind === 'memory' ? memoryLog() : sqliteLog({ path, commitIntervalMs: 0 });
    open.push(log);
    return log;
  };
  afterEach(async () => {
    for (const log of open.splice(0)) await log.close();
  });

  test('gives the same records, state and blobs as the export', async () => {
    // One store for many sessions, because one file per session would be slow.
    const target = newLog();
    let run = 0;
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const source = memoryLog();
        const into = sessionId(`${kind} ${++run}`);
        const from = await enact(source, plan);
        await importBlobs(target, exportBlobs(source, from));
        const lines = await all(exportSession(source, from));
        await importSession(target, lines, { into, isTrusted: true });
        expect(await saidBy(target, into)).toStrictEqual(await saidBy(source, from));
        expect(await all(exportBlobs(target, into))).toEqual(await all(exportBlobs(source, from)));
        const [, ...again] = await all(exportSession(target, into));
        expect(again).toEqual(lines.slice(1));
        await target.delete(into);
      }),
    );
  });

  test('of a log of one’s own gives a session that continues like the original', async () => {
    const source = memoryLog();
    const driver = await source.open(session);
    await source.submit(session, { say: 'hello' }, 'key');
    await driver.append([turnStarted(1), ...answer(1, ['a', 'b'])]);
    await driver.append([turnStarted(2), ...answer(2, ['c']).slice(0, 3)]);
    const target = newLog();
    const lines = exportSession(source, session);
    const info = await importSession(target, lines, { isTrusted: true });
    expect(info).toMatchObject({ session, through: 12, hasWork: true, isClosed: false });
    expect(await target.submit(session, { say: 'hello' }, 'key')).toEqual({
      offset: 1,
      isRepeat: true,
    });
    const next = await target.open(session);
    expect((await next.append([])).records).toEqual(await recordsOf(source, session));
    const producer = await target.produce(await next.admit({ for: 'request', turn: 2 }));
    // The ids of the first attempt are used, so the new producer supersedes it.
    expect(producer.attempt).toBe(2);
    const { records } = await next.append([]);
    expect(records).toMatchObject([
      { offset: 13, turn: 2, attempt: 1, fact: { type: 'attempt_superseded' } },
    ]);
  });

  test('keeps the closed state, the times and the origin', async () => {
    const clock = new TestClock();
    const source = memoryLog({ clock });
    const driver = await source.open(session);
    await driver.append(wholeTurn(1, ['a']));
    clock.jump(1000);
    const forked = await source.fork(session, { into: copy, through: 3 });
    await (await source.open(copy)).closeSession();
    const target = newLog();
    const info = await importSession(target, exportSession(source, copy), { isTrusted: true });
    const { incarnation, epoch: _, ...original } = (await source.info(copy)) ?? info;
    expect(info).toMatchObject(original);
    expect(info.incarnation).not.toBe(incarnation);
    expect(info.origin).toEqual(forked.origin);
    await expect(target.open(copy)).rejects.toMatchObject({ code: 'session_closed' });
  });

  test('handles characters that some readers treat as line breaks', async () => {
    const [from, log] = [memoryLog(), newLog()];
    const odd = sessionId('odd\u2028id');
    const text = 'one\u2028two\u2029three\r\nfour\u0085five';
    await (await from.open(odd)).append(wholeItem('i', { kind: 'text', text }));
    const file = join(folder, `lines-${kind}.jsonl`);
    writeFileSync(file, (await all(exportSession(from, odd))).join('\n'));
    await importSession(log, createInterface({ input: createReadStream(file) }));
    expect(await recordsOf(log, odd)).toEqual(await recordsOf(from, odd));
  });

  test('keeps the last offset if the last record was removed', async () => {
    const [from, log] = [memoryLog(), newLog()];
    const driver = await from.open(session);
    const at = { turn: 1, attempt: 1 };
    await driver.append([turnStarted(1), ...answer(1, ['a'])]);
    await driver.append([{ ...at, fact: { type: 'attempt_superseded', reason: 'again' } }]);
    await driver.append([turnFinished(1)]);
    await driver.append([
      { ...at, delta: { type: 'retract_part', partId: answerPart(1), reason: 'late' } },
    ]);
    await from.redact(session, answerId(1));
    const { through = 0 } = (await from.info(session)) ?? {};
    expect((await recordsOf(from, session)).at(-1)?.offset).toBeLessThan(through);
    await importSession(log, await all(exportSession(from, session)), { into: copy });
    expect((await log.info(copy))?.through).toBe(through);
    expect((await (await log.open(copy)).append([turnStarted(2)])).through).toBe(through + 1);
  });

  test('works for a session without records', async () => {
    const source = memoryLog();
    await (await source.open(session)).release();
    const target = newLog();
    expect(await importSession(target, exportSession(source, session))).toMatchObject({
      through: 0,
    });
  });

  test('is refused if the session exists, even if it was created meanwhile', async () => {
    const source = await exampleLog();
    const lines = await all(exportSession(source, session));
    const target = newLog();
    await target.submit(session, {}, 'first');
    const refused = { code: 'session_exists', place: { session } };
    await expect(importSession(target, lines)).rejects.toMatchObject(refused);
    await expect(target.restore(session, [])).rejects.toMatchObject(refused);
    async function* slowly() {
      yield* lines;
      await target.submit(copy, {}, 'first');
    }
    await expect(importSession(target, slowly(), { into: copy })).rejects.toMatchObject({
      code: 'session_exists',
      place: { session: copy },
    });
    expect(await recordsOf(target, session)).toHaveLength(1);
    expect(await recordsOf(target, copy)).toHaveLength(1);
  });

  test('restore refuses unordered records and duplicate commands', async () => {
    const [first, second] = await recordsOf(await exampleLog(), session);
    const target = newLog();
    const bad = [[first, first], [second, first], [{ ...first, offset: 0 }]] as LogRecord[][];
    for (const records of bad) {
      await expect(target.restore(copy, records)).rejects.toMatchObject({ code: 'bad_records' });
    }
    const twice = [first, { ...first, offset: 2 }] as LogRecord[];
    await expect(target.restore(copy, twice)).rejects.toMatchObject({ place: { offset: 2 } });
    expect(await target.list()).toEqual([]);
  });
});

/** A log with every feature: commands, an open turn, a settled turn, a fork, unknown records. */
async function exampleLog(): Promise<Log> {
  const log = memoryLog();
  await log.submit(session, { say: 'hello' }, 'key');
  const driver = await log.open(session);
  await driver.append(wholeTurn(1, ['one ', 'two ', 'three']));
  await driver.append(wholeTurn(2, ['four ', 'five']));
  await driver.append([{ turn: 0, attempt: 0, fact: { type: 'unknown', raw: { type: 'later' } } }]);
  await driver.append([turnStarted(3), ...answer(3, ['six ', 'seven']).slice(0, 4)]);
  await log.settle(session, 1);
  await driver.release();
  return log;
}

const begun = '"type":"begin_part",$1,"itemId":"answer 2.1","kind":"custom","name":"c"';
const ended = '"fact":{"type":"item_finished","itemId":"answer 2.1"}}';

describe('a changed export file', () => {
  let good: readonly string[];
  const target = memoryLog();
  beforeAll(async () => {
    good = await all(exportSession(await exampleLog(), session));
  });
  afterAll(() => target.close());

  /** Asserts that the refused import stored nothing. */
  async function expectRefused(lines: LineSource, line: number): Promise<void> {
    const error = await importSession(target, lines).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LogError);
    expect(error).toMatchObject({ code: 'bad_records', place: { line } });
    expect((error as LogError).message).toContain(`line ${line}: `);
    expect(await target.list()).toEqual([]);
  }

  type Damage = (lines: readonly string[], at: number) => readonly string[];
  const instead =
    (text: string): Damage =>
    (lines, at) =>
      lines.with(at, text);
  const damages: Readonly<Record<string, Damage>> = {
    'is left out': (lines, at) => lines.toSpliced(at, 1),
    'stands there with the next one before it': (lines, at) =>
      lines.toSpliced(at, 2, lines[at + 1] ?? '{}', lines[at] ?? ''),
    'is cut off': (lines, at) => lines.with(at, (lines[at] ?? '').slice(0, -1)),
    'lacks its beginning': (lines, at) => lines.with(at, (lines[at] ?? '').slice(1)),
    'has something behind it': (lines, at) => lines.with(at, `${lines[at]} x`),
    'is another’s': (lines, at) => lines.with(at, (at === 0 ? good.at(-1) : good[0]) ?? ''),
    'has a version that never was': (lines, at) =>
      lines.with(at, (lines[at] ?? '').replace('"v":1', '"v":0')),
    'is a text': instead('"a"'),
    'is a number': instead('1'),
    'is null': instead('null'),
    'is an array': instead('[]'),
    'is an empty object': instead('{}'),
    'is no JSON': instead('hello'),
    'is zero bytes': instead('\0\0\0\0'),
  };

  test.each(Object.entries(damages))('one line of which %s, is refused', async (_how, damage) => {
    for (const at of good.keys()) await expectRefused(damage(good, at), at + 1);
  });

  test('with a duplicate line is refused', async () => {
    for (const at of good.keys())
      await expectRefused(good.toSpliced(at, 0, good[at] ?? ''), at + 2);
  });

  test('with an empty line is refused', async () => {
    for (const at of good.keys()) {
      // An empty line at the end of a file does not count, so the last record is missing.
      await expectRefused(good.with(at, ' \r'), at + 1);
    }
  });

  test('that ends early is refused at any line', async () => {
    const cuts = good.flatMap((line, at) =>
      Array.from({ length: line.length }, (_, length) => [
        ...good.slice(0, at),
        line.slice(0, length),
      ]),
    );
    for (const at of good.keys()) await expectRefused(good.slice(0, at).join('\n'), at + 1);
    for (const lines of someOf(cuts)) await expectRefused(lines.join('\n'), lines.length);
  });

  test('with additional lines is refused', async () => {
    const extra = good.at(-1)?.replace(/"offset":\d+/, `"offset":${good.length + 100}`) ?? '';
    await expectRefused([...good, extra], good.length + 1);
  });

  test('of a later version is refused as too new', async () => {
    for (const at of good.keys()) {
      const lines = good.with(at, (good[at] ?? '').replace('"v":1', '"v":2'));
      await expect(importSession(target, lines)).rejects.toMatchObject({
        code: 'too_new',
        place: { line: at + 1 },
      });
    }
    expect(await target.list()).toEqual([]);
  });

  test('with any changed field is refused with its line number, or is still a valid log', async () => {
    const values = [undefined, null, -1, 0.5, 1e300, '', 'x', [], {}, [[1, 2]], true];
    const changes = good.flatMap((line, at) =>
      pathsIn(JSON.parse(line)).flatMap((path) => values.map((value) => ({ at, path, value }))),
    );
    for (const { at, path, value } of someOf(changes)) {
      const line = JSON.stringify(changed(JSON.parse(good[at] ?? ''), path, value));
      const outcome = await importSession(target, good.with(at, line)).catch(
        (error: unknown) => error,
      );
      if (outcome instanceof LogError) {
        expect(outcome.place['line']).toBeGreaterThan(at);
        expect(await target.list()).toEqual([]);
      } else {
        const { session: into, through } = outcome as { session: SessionId; through: number };
        expect((await saidBy(target, into)).state.through).toBe(through);
        await target.delete(into);
      }
    }
  });

  test.each([
    [
      'that are adjacent',
      [
        [2, 3],
        [4, 5],
      ],
    ],
    [
      'that are not sorted',
      [
        [4, 5],
        [2, 2],
      ],
    ],
    ['that end before they start', [[5, 4]]],
    ['before the first offset', [[0, 1]]],
    ['at the end', [[3, 10_000]]],
    ['that are no pairs', [[1], 2, [1, 2, 3]]],
  ])('with holes %s is refused', async (_where, holes) => {
    const header = JSON.stringify({ ...JSON.parse(good[0] ?? ''), holes });
    await expectRefused(good.with(0, header), 1);
  });

  test.each([
    ['of another turn than its part', '"append_text"', '"turn":2', '"turn":1'],
    ['of another attempt than its part', '"append_text"', '"attempt":1', '"attempt":2'],
    ['with half of a pair in its text', '"append_text"', '"four "', '"\\ud83d"'],
    ['that begins a part that was', '"commit_part"', /"type":"commit_part",(.*),"length":9/, begun],
    ['that ends an item with open parts', '"five"', /"delta":.*/, ended],
  ])('with a record %s is refused', async (_what, mark, from, to) => {
    const at = good.findIndex((line) => line.includes(mark) && line.includes('"turn":2'));
    const line = good[at]?.replace(from, to) ?? '';
    expect(line).not.toBe(good[at]);
    await expectRefused(good.with(at, line), at + 1);
  });

  test('with a snapshot of later records is refused', async () => {
    const at = good.findIndex((line) => line.includes('"snapshot"'));
    const line = good[at]?.replace(/"covers":\[(\d+),\d+\]/, '"covers":[$1,1000]') ?? '';
    await expectRefused(good.with(at, line), at + 1);
  });

  test('with a duplicate command is refused', async () => {
    const command = good[1] ?? '';
    const at = good.findIndex((line) => line.includes('"later"'));
    const offset = /"offset":\d+/;
    const again = command.replace(offset, offset.exec(good[at] ?? '')?.[0] ?? '');
    await expectRefused(good.with(at, again), at + 1);
  });

  test('with lines that are not strings is refused', async () => {
    await expectRefused([Buffer.from('{}')] as unknown as string[], 1);
  });

  test('that cannot be read to its end stores nothing', async () => {
    async function* failing() {
      yield* good.slice(0, 5);
      throw new Error('unplugged');
    }
    await expect(importSession(target, failing())).rejects.toThrow('unplugged');
    expect(await target.list()).toEqual([]);
  });

  test('with a normal end is accepted, as lines or as text', async () => {
    for (const lines of [`${good.join('\n')}\n`, `${good.join('\r\n')}\r\n\r\n`, good]) {
      expect(await importSession(target, lines)).toMatchObject({ session });
      await target.delete(session);
    }
  });
});

/** The paths of all values inside a value. */
function pathsIn(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  const inner = Object.entries(value).flatMap(([key, entry]) => pathsIn(entry, [...path, key]));
  return path.length === 0 ? inner : [path, ...inner];
}

function changed(value: unknown, [key, ...rest]: readonly string[], to: unknown): unknown {
  if (key === undefined) return to;
  const copied = Array.isArray(value) ? [...value] : { ...(value as object) };
  const inner = (value as Readonly<Record<string, unknown>>)[key];
  return Object.assign(copied, { [key]: changed(inner, rest, to) });
}

test('a missing session and its blobs cannot be exported', async () => {
  const log = memoryLog();
  const refused = { code: 'no_session', place: { session } };
  await expect(all(exportSession(log, session))).rejects.toMatchObject(refused);
  await expect(all(exportBlobs(log, session))).rejects.toMatchObject(refused);
});

describe('blobs', () => {
  const large = Uint8Array.from({ length: 2_000_000 }, (_, at) => (at * at) % 251);

  async function withBlobs(...blobs: readonly Uint8Array[]): Promise<Log> {
    const log = memoryLog();
    const driver = await log.open(session);
    for (const [index, bytes] of blobs.entries()) {
      const { hash, length } = await log.blobs.put(bytes);
      await driver.append(wholeItem(`item ${index}`, blobPart(hash, length)));
    }
    return log;
  }

  test('of any length are exported once, in short lines', async () => {
    const log = await withBlobs(large, Uint8Array.of(), Uint8Array.of(1), Uint8Array.of(1));
    const lines = await all(exportBlobs(log, session));
    expect(lines).toHaveLength(5);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(1.1 * 2 ** 20);
    const target = memoryLog();
    const stored = await importBlobs(target, lines);
    expect(stored.map(({ length }) => length)).toEqual([large.length, 0, 1]);
    expect(await target.blobs.get(stored[0]?.hash ?? '')).toEqual(large);
  });

  test('that are missing are reported with the line that references them', async () => {
    const log = await withBlobs(Uint8Array.of(1), Uint8Array.of(2));
    const target = memoryLog();
    const [first = ''] = await all(exportBlobs(log, session));
    await importBlobs(target, [first]);
    const lines = await all(exportSession(log, session));
    await expect(importSession(target, lines)).rejects.toMatchObject({
      code: 'bad_records',
      place: { line: 6 },
    });
    expect(await target.list()).toEqual([]);
  });

  test('that are missing in the store cannot be exported', async () => {
    const log = memoryLog();
    const driver = await log.open(session);
    await driver.append(wholeItem('item', blobPart('0'.repeat(64), 1)));
    await expect(all(exportBlobs(log, session))).rejects.toMatchObject({ code: 'corrupt' });
  });

  test('with a wrong hash or missing pieces are refused with their line', async () => {
    const log = await withBlobs(large, Uint8Array.of(1, 2, 3));
    const good = await all(exportBlobs(log, session));
    const [one = '', two = '', three = '', four = ''] = good;
    const bad: readonly (readonly [readonly string[], number])[] = [
      [[one, two], 3],
      [[two, three], 1],
      [[one, three], 2],
      [[one, one], 2],
      [[one, four], 2],
      [[one, two, three, four.replace('AQID', 'AQIE')], 4],
      [[one, two, three, four.replace('AQID', 'AQI')], 4],
      [[one, two, three, four.replace('"length":3', '"length":2')], 4],
      [[four.replace(/"hash":"../, '"hash":"xx')], 1],
      [[four.replace('"hash"', '"hush"')], 1],
      [[four.replace('"AQID"', 'null')], 1],
      [['null'], 1],
      [['[]'], 1],
      [['{'], 1],
    ];
    for (const [lines, line] of bad) {
      const refused = { code: 'bad_records', place: { line } };
      await expect(importBlobs(memoryLog(), lines)).rejects.toMatchObject(refused);
    }
  });
});
