import {
  type DraftRecord,
  decodeRecord,
  encodeRecord,
  type LogRecord,
  sessionId,
} from '@millrace/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { randomLog } from '../../../core/src/testing/random-log.ts';
import { isFull, runs } from '../../../core/src/testing/runs.ts';
import { memoryLog } from '../memory/memory-log.ts';
import { exportSession } from '../transfer/export-session.ts';
import { verifyExport, verifySession } from './verify.ts';

const session = sessionId('law');

const toDraft = ({ turn, attempt, delta, fact }: LogRecord): DraftRecord =>
  delta === undefined ? { turn, attempt, fact } : { turn, attempt, delta };

/** Draws numbers below a limit from a stream of random numbers. */
type Draw = (limit: number) => number;

interface RandomChain {
  readonly lines: readonly string[];
  readonly rewrites: number;
  readonly isValid: boolean;
}

/** Writes a random log in random batches, and settles turns and redacts items at random. */
async function randomChain(numbers: readonly number[], draw: Draw): Promise<RandomChain> {
  const log = memoryLog({ chain: true });
  const driver = await log.open(session);
  const drafts = randomLog(numbers).map(toDraft);
  for (let at = 0; at < drafts.length; ) {
    const size = 1 + draw(9);
    await driver.append(drafts.slice(at, at + size));
    at += size;
  }
  const items = drafts.flatMap(({ fact }) => (fact?.type === 'item_started' ? fact.itemId : []));
  const turns = [...new Set(drafts.map(({ turn }) => turn))];
  for (let times = draw(5); times > 0; times--) {
    const item = items[draw(items.length)];
    // Unfinished items and turns are refused. That is not the subject of this law.
    if (draw(2) === 0) await log.settle(session, turns[draw(turns.length)] ?? 0).catch(() => {});
    else if (item !== undefined) await log.redact(session, item, 'private').catch(() => {});
    if (draw(2) === 0) await driver.append([{ turn: 0, attempt: 0, fact: { type: 'aborted' } }]);
  }
  const { isValid, rewrites, problems } = await verifySession(log, session);
  expect(problems).toEqual([]);
  const lines: string[] = [];
  for await (const line of exportSession(log, session)) lines.push(line);
  await log.close();
  return { lines, rewrites: rewrites.length, isValid };
}

/** Returns whether the verification of changed lines finds a problem. */
async function isFound(lines: readonly string[]): Promise<boolean> {
  try {
    return !(await verifyExport(lines)).isValid;
  } catch {
    return true;
  }
}

/** Flips one bit of a line, in its UTF-8 form. */
function flipBit(line: string, bit: number): string {
  const bytes = Buffer.from(line);
  const at = Math.floor(bit / 8);
  bytes[at] = (bytes[at] ?? 0) ^ (1 << (bit % 8));
  return bytes.toString();
}

/** Divides the lines of the records into batches. Each batch ends at a record with a link. */
function batchesOf(records: readonly string[]): readonly (readonly string[])[] {
  const batches: string[][] = [[]];
  for (const line of records) {
    batches.at(-1)?.push(line);
    if (decodeRecord(line).links !== undefined) batches.push([]);
  }
  return batches.filter((batch) => batch.length > 0);
}

const numbers = fc.array(fc.nat(0xffff), { minLength: 20, maxLength: 90, size: 'max' });
/** The number of bits that are flipped in each log, one at a time. */
const flipsPerLog = isFull ? 100 : 60;
const draws = fc.infiniteStream(fc.nat(0xffffff));

test('a flipped bit, and a dropped, doubled or swapped batch or record are found in any log', async () => {
  const seen = { rewritten: 0, flips: 0, moves: 0 };
  await fc.assert(
    fc.asyncProperty(numbers, draws, async (given, stream) => {
      const draw: Draw = (limit) => (limit === 0 ? 0 : stream.next().value % limit);
      const { lines, rewrites, isValid } = await randomChain(given, draw);
      expect(isValid).toBe(true);
      expect(await isFound(lines)).toBe(false);
      seen.rewritten += Math.min(1, rewrites);
      const [header = '', ...records] = lines;
      for (let flips = 0; flips < flipsPerLog; flips++) {
        const at = draw(records.length);
        const line = records[at] ?? '';
        const bit = draw(Buffer.byteLength(line) * 8);
        const changed = records.with(at, flipBit(line, bit));
        seen.flips++;
        if (!(await isFound([header, ...changed]))) expect.fail(`bit ${bit} of ${line}`);
      }
      for (const parts of [batchesOf(records), records.map((line) => [line])]) {
        const at = draw(parts.length);
        const other = draw(parts.length);
        const whole = (...changed: readonly (readonly (readonly string[])[])[]) =>
          changed.map((some) => [header, ...some.flat()]);
        const [one = [], two = []] = [parts[at], parts[other]];
        const moved = whole(
          parts.toSpliced(at, 1),
          parts.toSpliced(at, 0, one),
          ...(at === other ? [] : [parts.with(at, two).with(other, one)]),
          parts.slice(0, Math.max(0, parts.length - 1)),
        );
        for (const changed of moved) {
          seen.moves++;
          if (!(await isFound(changed))) expect.fail(`batch ${at} and ${other} of ${records}`);
        }
      }
    }),
    { numRuns: runs(1000) },
  );
  expect(seen.rewritten).toBeGreaterThan(0);
  expect(seen.flips).toBeGreaterThan(0);
  expect(seen.moves).toBeGreaterThan(0);
});

test('every single bit of the records of a rewritten log is covered', async () => {
  const stream = fc.sample(fc.nat(0xffffff), { numRuns: 400, seed: 25 }).values();
  const draw: Draw = (limit) => (limit === 0 ? 0 : (stream.next().value ?? 1) % limit);
  const given = fc.sample(fc.nat(0xffff), { numRuns: 14, seed: 6 });
  const { lines } = await randomChain(given, draw);
  const [header = '', ...records] = lines;
  // In quick mode, the test checks a part of the bits, spread over all lines.
  const stride = isFull ? 1 : 159;
  for (const [at, line] of records.entries())
    for (let bit = at % stride; bit < Buffer.byteLength(line) * 8; bit += stride)
      if (!(await isFound([header, ...records.with(at, flipBit(line, bit))])))
        expect.fail(`bit ${bit} of ${line}`);
});

test('a record with another offset does not replace a missing record', async () => {
  await fc.assert(
    fc.asyncProperty(numbers, draws, async (given, stream) => {
      const draw: Draw = (limit) => (limit === 0 ? 0 : stream.next().value % limit);
      const { lines } = await randomChain(given, draw);
      const [header = '', ...records] = lines;
      const at = draw(records.length);
      const { offset } = decodeRecord(records[at] ?? '');
      const other = { ...decodeRecord(records[draw(records.length)] ?? ''), offset };
      const changed = records.with(at, encodeRecord(other));
      expect(await isFound([header, ...changed])).toBe(changed[at] !== records[at]);
    }),
    { numRuns: runs(200) },
  );
});
