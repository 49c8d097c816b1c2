import {
  type DraftRecord,
  decodeRecord,
  encodeRecord,
  itemId,
  type LogRecord,
  sessionId,
} from '@millrace/core';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { randomLog } from '../../../core/src/testing/random-log.ts';
import { isFull, patientMs, runs } from '../../../core/src/testing/runs.ts';
import type { Log } from '../contract/log.ts';
import { memoryLog } from '../memory/memory-log.ts';
import { answerId, wholeItem, wholeTurn } from '../suite/drafts.ts';
import { exportSession } from '../transfer/export-session.ts';
import { decodeHeader } from '../transfer/session-header.ts';
import { type ChainedRecords, checkChain } from './check-chain.ts';
import { type Ed25519Key, parseHead, type SignedHead, signHead } from './signed-head.ts';
import { readRecordLine, verifyExport, verifySession } from './verify.ts';

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
    if (draw(2) === 0) await driver.append([aborted]);
  }
  const { isValid, rewrites, problems } = await verifySession(log, session);
  expect(problems).toEqual([]);
  const lines = await exported(log);
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
const flipsPerLog = isFull ? 100 : 20;
/** Numbers for short logs, in which every bit is flipped. */
const shortNumbers = fc.array(fc.nat(0xffff), { minLength: 4, maxLength: 24, size: 'max' });
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
  if (isFull) expect(seen.rewritten).toBeGreaterThan(0);
  expect(seen.flips).toBeGreaterThan(0);
  expect(seen.moves).toBeGreaterThan(0);
});

/** A short log in its exported form, and what `verifyExport` reads from it. */
interface ShortChain {
  readonly header: string;
  readonly lines: readonly string[];
  readonly records: readonly LogRecord[];
  readonly rewrites: number;
  /** Heads that were signed while the log was written. */
  readonly heads: readonly SignedHead[];
  /** The export before the last batch was appended. */
  readonly earlier: readonly string[];
}

const keys = (await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify'])) as {
  readonly privateKey: Ed25519Key;
  readonly publicKey: Ed25519Key;
};
const { publicKey } = keys;
const aborted: DraftRecord = { turn: 0, attempt: 0, fact: { type: 'aborted' } };

async function exported(log: Log): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const line of exportSession(log, session)) lines.push(line);
  return lines;
}

/**
 * Writes 3 to 12 records in random batches. Every second log has a whole item, a turn or both, which it
 * settles and redacts at random. Every fourth log signs heads.
 */
async function shortChain(numbers: readonly number[], draw: Draw): Promise<ShortChain> {
  const log = memoryLog({ chain: true });
  const driver = await log.open(session);
  const isSigned = draw(4) === 0;
  const heads: SignedHead[] = [];
  const sign = async () => {
    if (isSigned) heads.push(await signHead(log, session, keys.privateKey));
  };
  const isTurn = draw(2) === 0;
  const note = wholeItem('note', { kind: 'text', text: 'a code' });
  const turn = wholeTurn(1, ['ü']);
  const drafts = isTurn
    ? ([note, turn, [...note, ...turn]][draw(3)] ?? note)
    : randomLog(numbers)
        .slice(0, 2 + draw(6))
        .map(toDraft);
  for (let at = 0; at < drafts.length; ) {
    const size = 1 + draw(4);
    await driver.append(drafts.slice(at, at + size));
    at += size;
  }
  await sign();
  // Unfinished items and turns are refused. That is not the subject of this law.
  const steps = [
    () => log.settle(session, 1),
    () => log.redact(session, itemId('note'), 'private'),
    () => log.redact(session, answerId(1), 'private'),
  ];
  for (let times = isTurn ? draw(3) : 0; times > 0; times--)
    await steps[draw(steps.length)]?.().catch(() => {});
  const earlier = await exported(log);
  await driver.append([aborted]);
  await sign();
  const { rewrites } = await verifySession(log, session, { heads, publicKey });
  const [header = '', ...lines] = await exported(log);
  await log.close();
  const records = lines.map((line) => readRecordLine(line).record);
  return { header, lines, records, rewrites: rewrites.length, heads, earlier };
}

/**
 * Divides a chain into parts that `checkChain` can check alone, one for each batch. A rewritten chain is one
 * part, because its last links cover earlier records.
 */
function checkedParts({ header, lines, records, rewrites }: ShortChain): readonly ChainedRecords[] {
  const { chain, through } = decodeHeader(header);
  if (chain === undefined) throw new Error('The log has no chain');
  const whole = { records, chain, through };
  if (rewrites > 0) return [whole];
  const { hashes } = checkChain(whole);
  let at = 0;
  return batchesOf(lines).map((batch, index) => {
    const own = records.slice(at, at + batch.length);
    at += batch.length;
    const end = { count: index + 1, start: own[0]?.offset ?? 0, hash: hashes[index] ?? '' };
    const before = { count: index, hash: hashes[index - 1] ?? '' };
    return { records: own, chain: end, through: own.at(-1)?.offset ?? 0, before };
  });
}

/**
 * Returns whether the verification finds a changed line. It runs the two steps of `verifyExport`: the step that
 * reads a line, and the step that checks records, for the batch of the line. A flip that leaves the meaning of
 * the line is no exception, because the first step accepts only one text for a record.
 */
function isLineFound(part: ChainedRecords, at: number, line: string): boolean {
  try {
    const { record, problem } = readRecordLine(line);
    if (problem !== undefined) return true;
    return !checkChain({ ...part, records: part.records.with(at, record) }).isValid;
  } catch {
    return true;
  }
}

/** In quick mode, the laws try a part of the bits, spread over all lines. */
const stride = isFull ? 1 : 61;
/** In quick mode, one of so many drops, repeats and swaps is tried. */
const moveStride = isFull ? 1 : 7;
/** One of so many flips is also given to `verifyExport`, with the whole file. */
const wholeFileStride = isFull ? 499 : 97;

test(
  'every flipped bit, and every drop, repeat and swap of a batch or record of a short log is found',
  async () => {
    const seen = { flips: 0, wholeFiles: 0, moves: 0, rewritten: 0, signed: 0 };
    // Most flips make a line unreadable. Its error is not shown, so it needs no stack trace.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    onTestFinished(() => {
      Error.stackTraceLimit = stackTraceLimit;
    });
    await fc.assert(
      fc.asyncProperty(shortNumbers, draws, async (given, stream) => {
        const draw: Draw = (limit) => (limit === 0 ? 0 : stream.next().value % limit);
        const chain = await shortChain(given, draw);
        const { header, lines, heads, earlier } = chain;
        const options = heads.length > 0 ? { heads, publicKey } : {};
        expect((await verifyExport([header, ...lines], options)).problems).toEqual([]);
        seen.rewritten += Math.min(1, chain.rewrites);
        let first = 0;
        for (const part of checkedParts(chain)) {
          expect(checkChain(part).problems).toEqual([]);
          for (const at of part.records.keys()) {
            const line = lines[first + at] ?? '';
            for (let bit = draw(stride); bit < Buffer.byteLength(line) * 8; bit += stride) {
              const changed = flipBit(line, bit);
              if (!isLineFound(part, at, changed)) expect.fail(`bit ${bit} of ${line}`);
              if (seen.flips++ % wholeFileStride > 0) continue;
              seen.wholeFiles++;
              if (!(await isFound([header, ...lines.with(first + at, changed)])))
                expect.fail(`bit ${bit} of ${line}`);
            }
          }
          first += part.records.length;
        }
        expect(first).toBe(lines.length);
        const moves = movesOf(batchesOf(lines)).concat(movesOf(lines.map((line) => [line])));
        for (const moved of moves.filter((_, index) => index % moveStride === 0)) {
          seen.moves++;
          if (!(await isFound([header, ...moved]))) expect.fail(`${moved} instead of ${lines}`);
        }
        if (heads.length === 0) return;
        // A chain without its last batch is valid. Only a signed head shows that the batch is missing.
        seen.signed++;
        expect((await verifyExport(earlier)).isValid).toBe(true);
        expect((await verifyExport(earlier, options)).isValid).toBe(false);
      }),
      { numRuns: runs(1000) },
    );
    expect(Math.min(seen.flips, seen.wholeFiles, seen.moves)).toBeGreaterThan(0);
    if (!isFull) return;
    console.log(seen);
    expect(Math.min(seen.rewritten, seen.signed)).toBeGreaterThan(0);
  },
  patientMs(900_000),
);

/** Returns every drop and every repeat of one part, and every swap of two different parts. */
function movesOf(parts: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const moves = parts.flatMap((one, at) => [
    parts.toSpliced(at, 1),
    parts.toSpliced(at, 0, one),
    ...(at === parts.length - 1 ? [] : [parts.toSpliced(parts.length, 0, one)]),
    ...parts.flatMap((two, other) => (other > at ? [parts.with(at, two).with(other, one)] : [])),
  ]);
  return moves.map((move) => move.flat());
}

test('every flipped bit of a signed head is found', async () => {
  let flips = 0;
  await fc.assert(
    fc.asyncProperty(shortNumbers, draws, async (given, stream) => {
      const draw: Draw = (limit) => (limit === 0 ? 0 : stream.next().value % limit);
      const { header, lines, heads } = await shortChain(given, (limit) =>
        limit === 4 ? 0 : draw(limit),
      );
      const text = JSON.stringify(heads.at(-1));
      // The last letters are always tried, because not all of their bits belong to the signature.
      const end = Buffer.byteLength(text) * 8;
      const start = draw(headStride);
      for (let bit = 0; bit < end; bit++) {
        if (bit % headStride !== start && bit < end - 24) continue;
        flips++;
        if (!(await isHeadFound([header, ...lines], flipBit(text, bit))))
          expect.fail(`bit ${bit} of ${text}`);
      }
    }),
    { numRuns: runs(20) },
  );
  if (isFull) console.log({ flips });
  expect(flips).toBeGreaterThan(0);
});

/** In quick mode, a part of the bits of a head is tried, because each one needs a check of a signature. */
const headStride = isFull ? 1 : 61;

async function isHeadFound(lines: readonly string[], text: string): Promise<boolean> {
  try {
    const heads = [parseHead(text)];
    return !(await verifyExport(lines, { heads, publicKey })).isValid;
  } catch {
    return true;
  }
}

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
