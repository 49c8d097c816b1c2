import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { itemId, sessionId } from '@millrace/core';
import { afterAll, describe, expect, test } from 'vitest';
import { someOf } from '../../../core/src/testing/runs.ts';
import type { Log } from '../contract/log.ts';
import { memoryLog } from '../memory/memory-log.ts';
import { textChecksum } from '../sqlite/checked-rows.ts';
import { sqliteLog } from '../sqlite/sqlite-log.ts';
import { answerId, markers, wholeItem, wholeTurn } from '../suite/drafts.ts';
import { exportSession } from '../transfer/export-session.ts';
import { importSession } from '../transfer/import-session.ts';
import { exportBlobs } from '../transfer/transfer-blobs.ts';
import { type Ed25519Key, parseHead, signHead } from './signed-head.ts';
import { verifyExport, verifySession } from './verify.ts';

const folder = mkdtempSync(join(tmpdir(), 'chain-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const session = sessionId('orders');
const text = (said: string) => ({ kind: 'text', text: said }) as const;

/** Writes a session with a question, a secret and two turns, in batches of three records. */
async function write(log: Log, said = ['Your ', 'order ', 'is ', 'on its way']): Promise<void> {
  const driver = await log.open(session);
  await driver.append(wholeItem('question', text('Where is my order?')));
  await driver.append(wholeItem('secret', text('My code is 4711')));
  const turns = [...wholeTurn(1, said), ...wholeTurn(2, ['Good', 'bye'])];
  for (let at = 0; at < turns.length; at += 3) await driver.append(turns.slice(at, at + 3));
  await log.submit(session, { type: 'abort' }, 'stop');
  await driver.release();
}

async function linesOf(log: Log, of = session): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const line of exportSession(log, of)) lines.push(line);
  return lines;
}

const { privateKey, publicKey } = (await crypto.subtle.generateKey('Ed25519', true, [
  'sign',
  'verify',
])) as { readonly privateKey: Ed25519Key; readonly publicKey: Ed25519Key };

let files = 0;
const logs: readonly (readonly [string, () => Log])[] = [
  ['memory', () => memoryLog({ chain: true })],
  ['SQLite', () => sqliteLog({ path: join(folder, `${files++}.db`), chain: true })],
];

describe.each(logs)('25.6: a chained log in %s', (_name, open) => {
  test('verifies, and reports what settling and redactions took out', async () => {
    const log = open();
    await write(log);
    const before = await signHead(log, session, privateKey);
    expect(await verifySession(log, session)).toMatchObject({ isValid: true, rewrites: [] });
    await log.settle(session, 1);
    await log.redact(session, itemId('secret'), 'private');
    await log.settle(session, 2);
    await log.redact(session, answerId(2));
    const options = { heads: [before], publicKey };
    const { isValid, problems, rewrites, unproven } = await verifySession(log, session, options);
    expect(problems).toEqual([]);
    expect(isValid).toBe(true);
    // The head does not prove what the rewritten offsets contain now. A new head does.
    const ranges = rewrites.flatMap(({ offsets }) => offsets);
    for (const [first, last] of ranges)
      expect(unproven?.some(([from, to]) => from <= first && last <= to)).toBe(true);
    const heads = [before, await signHead(log, session, privateKey)];
    expect((await verifySession(log, session, { heads, publicKey })).unproven).toBeUndefined();
    expect(rewrites).toMatchObject([
      { reason: 'settled', turn: 1, removed: 5 },
      { reason: 'redacted', item: 'secret', removed: 1 },
      { reason: 'settled', turn: 2, removed: 3 },
      { reason: 'redacted', item: 'answer 2.1', removed: 0 },
    ]);
    expect((await linesOf(log)).join()).not.toContain('4711');
    await log.close();
  });

  test('a fork has its own chain, which names the end of the original chain', async () => {
    const log = open();
    await write(log);
    const { chain } = (await log.info(session)) ?? {};
    await log.fork(session, { into: 'fork', through: 8 });
    const fork = await log.open('fork');
    await fork.append(markers(2));
    const report = await verifySession(log, 'fork');
    expect(report.problems).toEqual([]);
    const { count, hash } = chain ?? {};
    expect(report.origin).toEqual({ session, through: 8, chain: { count, hash } });
    await log.close();
  });

  test('an export keeps its chain, and an import says what it took out', async () => {
    const log = open();
    await write(log);
    const head = await signHead(log, session, privateKey);
    const options = { heads: [parseHead(JSON.stringify(head))], publicKey };
    const lines = await linesOf(log);
    expect((await verifyExport(lines, options)).problems).toEqual([]);
    await importSession(log, lines, { into: 'trusted', isTrusted: true });
    expect(await verifySession(log, 'trusted', options)).toMatchObject({ isValid: true });
    await importSession(log, lines, { into: 'untrusted' });
    const driver = await log.open('untrusted');
    await driver.append(wholeTurn(3, ['More']));
    await log.settle('untrusted', 3);
    const { problems, rewrites } = await verifySession(log, 'untrusted', options);
    expect(problems).toEqual([]);
    expect(rewrites).toMatchObject([{ reason: 'imported', removed: 1 }, { reason: 'settled' }]);
    await log.close();
  });

  test('a chain that was computed again is found with a signed head', async () => {
    const log = open();
    await write(log);
    const head = await signHead(log, session, privateKey);
    const forged = open();
    await write(forged, ['Your ', 'order ', 'is ', 'lost']);
    expect(await verifySession(forged, session)).toMatchObject({ isValid: true });
    const options = { heads: [head], publicKey };
    expect((await verifySession(forged, session, options)).problems).toEqual([
      {
        message: `the signed head of session orders with link ${head.count} is not in the chain: earlier records were changed`,
        offsets: [1, head.through],
      },
    ]);
    const altered = { ...head, hash: (await forged.info(session))?.chain?.hash ?? '' };
    const { problems } = await verifySession(forged, session, { heads: [altered], publicKey });
    expect(problems[0]?.message).toContain('wrong signature');
    await Promise.all([log.close(), forged.close()]);
  });

  test('a chain that lost its end is found with a signed head', async () => {
    const log = open();
    await write(log);
    await log.fork(session, { into: 'before', through: 6 });
    const driver = await log.open('before');
    const early = await linesOf(log, sessionId('before'));
    await driver.append(markers(3));
    const head = await signHead(log, 'before', privateKey);
    expect(await verifyExport(early)).toMatchObject({ isValid: true });
    const { problems } = await verifyExport(early, { heads: [head], publicKey });
    expect(problems[0]?.message).toContain('is later than the chain');
    await log.close();
  });
});

test('25.6: a session keeps its chain in a log without the option', async () => {
  const path = join(folder, 'later.db');
  const first = sqliteLog({ path, chain: true });
  await write(first);
  await first.close();
  const later = sqliteLog({ path });
  const driver = await later.open(session);
  await driver.append(markers(4));
  expect(await verifySession(later, session)).toMatchObject({ isValid: true });
  await later.close();
});

test('25.6: a session that had records gets a chain for its next records', async () => {
  const path = join(folder, 'earlier.db');
  const first = sqliteLog({ path });
  await write(first);
  const { through = 0 } = (await first.info(session)) ?? {};
  expect(await verifySession(first, session)).toMatchObject({
    isValid: false,
    problems: [{ message: 'the session has no hash chain' }],
  });
  await first.close();
  const later = sqliteLog({ path, chain: true });
  await (await later.open(session)).append(markers(4));
  const report = await verifySession(later, session);
  expect(report).toMatchObject({ isValid: true, uncovered: [1, through] });
  await later.settle(session, 1);
  expect((await verifySession(later, session)).problems).toEqual([]);
  await later.close();
});

test('25.6: a changed row of a SQLite file with a correct checksum is found', async () => {
  const path = join(folder, 'attacked.db');
  const log = sqliteLog({ path, chain: true });
  await write(log);
  await log.close();
  const database = new DatabaseSync(path);
  const rows = database.prepare("SELECT * FROM chunks WHERE body LIKE '%on its way%'").all();
  for (const { session: key, first, last, body } of rows) {
    const changed = String(body).replace('on its way', 'on the way');
    const sum = textChecksum(changed, [Number(key), Number(first), Number(last)]);
    const update = database.prepare(
      'UPDATE chunks SET body = ?, sum = ? WHERE session = ? AND last = ?',
    );
    update.run(changed, sum, key ?? 0, last ?? 0);
  }
  database.close();
  const attacked = sqliteLog({ path });
  const { isValid, problems } = await verifySession(attacked, session);
  expect(isValid).toBe(false);
  expect(problems).toMatchObject([{ message: expect.stringContaining('have changed') }]);
  await attacked.close();
});

test('25.6: records that a program without the chain has inserted are found', async () => {
  const log = memoryLog({ chain: true });
  await write(log);
  const [header = '', ...records] = await linesOf(log);
  const { links: _links, ...last } = JSON.parse(records.at(-1) ?? '');
  const more = JSON.stringify({ ...last, offset: last.offset + 1 });
  const { through, ...head } = JSON.parse(header);
  const changed = JSON.stringify({ ...head, through: through + 1 });
  expect(await verifyExport([changed, ...records, more])).toMatchObject({ isValid: false });
  await log.close();
});

describe('25: an export with blobs', () => {
  /** Returns the lines of a session with a blob: those of the blob, and those of the session. */
  const exported = async () => {
    const log = memoryLog({ chain: true });
    const blob = await log.blobs.put(new TextEncoder().encode('sun'));
    const source = { type: 'blob', ...blob } as const;
    const driver = await log.open(session);
    await driver.append(wholeItem('picture', { kind: 'media', mimeType: 'image/png', source }));
    await driver.release();
    const blobs: string[] = [];
    for await (const line of exportBlobs(log, session)) blobs.push(line);
    const records = await linesOf(log);
    await log.close();
    return { blobs, records, hash: blob.hash };
  };

  test('verifies, and names the blobs that the lines do not contain', async () => {
    const { blobs, records, hash } = await exported();
    expect(blobs).toHaveLength(1);
    const whole = await verifyExport([...blobs, ...records, '']);
    expect(whole).toMatchObject({ session, isValid: true, problems: [], missingBlobs: [] });
    expect(await verifyExport(records)).toMatchObject({ isValid: true, missingBlobs: [hash] });
    const twice = await verifyExport([...blobs, ...blobs, ...records]);
    expect(twice.problems).toEqual([{ message: `the blob ${hash} occurs twice`, line: 2 }]);
    const [header = '', ...rest] = records;
    const cut = await verifyExport([...blobs, header, ...rest.slice(0, 1)]);
    expect(cut.problems.map(({ message }) => message)).toContain(
      `the session does not have the blob ${hash}`,
    );
    expect(await verifyExport(blobs)).toMatchObject({ session: undefined, isValid: false });
    expect(await verifyExport([])).toMatchObject({
      problems: [{ message: 'there is no session' }],
    });
  });

  test('does not verify if any bit of the line of a blob changes', async () => {
    const { blobs, records } = await exported();
    const line = Buffer.from(blobs[0] ?? '');
    const bits = Array.from({ length: line.length * 8 }, (_, bit) => bit);
    for (const bit of someOf(bits)) {
      const changed = Buffer.from(line);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const { isValid } = await verifyExport([changed.toString(), ...records]);
      expect([bit, isValid]).toEqual([bit, false]);
    }
  });

  test('of a later version is an error that does not speak of an import', async () => {
    const { records } = await exported();
    const later = records.map((line) => line.replace('"v":1', '"v":99'));
    await expect(verifyExport(later)).rejects.toThrow(/^Cannot verify an export: line \d: /);
  });
});
