import {
  type AppendText,
  type DeltaRecord,
  defaultContentLimits,
  isPartId,
  type PartId,
  recordVersion,
} from '@millrace/core';
import { isCount } from '../engine/check-options.ts';

/** A record that appends text to a part. Most records are of this kind. */
export type AppendRecord = DeltaRecord & { readonly delta: AppendText };

/** The version of a run whose last record has links. Its last entry is the array of links. */
export const linkedRunVersion = 2;

type RunHeader = Pick<AppendRecord, 'offset' | 'time' | 'turn' | 'attempt' | 'producer'>;

/**
 * Encodes a run. A run consists of text appends with consecutive offsets and equal headers. It becomes one
 * JSON array: the version, the first offset, the shared fields, then the entries:
 *
 * - A string is an append to the selected part, at the part's end.
 * - A number selects a part, with its end as the position. Parts are numbered from 0 in the order of their
 *   first use.
 * - `[part, at]` selects a part and a position. At its first use, a part is given by its id instead of its
 *   number.
 *
 * The array contains no objects, so plain JSON.parse is safe. See `hasEscapedKey` in core for the reason. If
 * the last record has links, the array has version 2, and the links are its last entry.
 */
export function encodeRun(first: AppendRecord, run: readonly AppendRecord[]): string {
  const text = encodeUnlinkedRun(first, run);
  const links = run.at(-1)?.links;
  if (links === undefined) return text;
  // The version is one digit, so the text after it starts at index 2.
  return `[${linkedRunVersion}${text.slice(2, -1)},${JSON.stringify(links)}]`;
}

/** The last encoded run. The chain of a session and the store both encode each run of an append. */
let lastRun: { readonly run: readonly AppendRecord[]; readonly text: string } | undefined;

/** Encodes a run without its links. The hash chain of a session depends on this text, so it must not change. */
export function encodeUnlinkedRun(first: AppendRecord, run: readonly AppendRecord[]): string {
  if (lastRun !== undefined && isSameRun(lastRun.run, run)) return lastRun.text;
  const text = runText(first, run);
  lastRun = { run, text };
  return text;
}

function isSameRun(one: readonly AppendRecord[], other: readonly AppendRecord[]): boolean {
  const [first, second] = [one[0], other[0]];
  if (one.length !== other.length || first === undefined || second === undefined) return false;
  const isSameHead =
    first.offset === second.offset &&
    first.time === second.time &&
    first.turn === second.turn &&
    first.attempt === second.attempt &&
    first.producer === second.producer;
  return isSameHead && one.every(({ delta }, index) => delta === other[index]?.delta);
}

function runText(first: AppendRecord, run: readonly AppendRecord[]): string {
  const { offset, time, turn, attempt, producer } = first;
  const line: unknown[] = [recordVersion, offset, time, turn, attempt, producer];
  /** The number and the end position of each part. */
  const parts = new Map<PartId, { readonly number: number; end: number }>();
  let growing: PartId | undefined;
  for (const { delta } of run) {
    const { partId: id, at, chunk } = delta;
    const known = parts.get(id);
    if (known === undefined || known.end !== at) line.push([known?.number ?? id, at]);
    else if (id !== growing) line.push(known.number);
    line.push(chunk);
    const end = at + chunk.length;
    if (known === undefined) parts.set(id, { number: parts.size, end });
    else known.end = end;
    growing = id;
  }
  return JSON.stringify(line);
}

/** Returns whether the second record continues the run of the first record. */
export function continuesRun(
  before: RunHeader,
  { offset, time, turn, attempt, producer }: RunHeader,
): boolean {
  return (
    offset === before.offset + 1 &&
    time === before.time &&
    turn === before.turn &&
    attempt === before.attempt &&
    producer === before.producer
  );
}

/** The number of shared fields before the entries of a run. */
const headLength = 6;

/** Decodes a line that `encodeRun` wrote. Returns `undefined` if the line is not valid. */
export function decodeRun(line: readonly unknown[]): readonly AppendRecord[] | undefined {
  if (line[0] === linkedRunVersion) return decodeLinkedRun(line);
  const [version, offset, time, turn, attempt, producer] = line;
  const isHead = version === recordVersion && [offset, time, turn, attempt].every(isCount);
  if (!isHead || typeof producer !== 'string') return undefined;
  const head = { time, turn, attempt, producer } as Omit<RunHeader, 'offset'>;
  const reader = new RunDecoder(head, offset as number);
  // The loop uses indices, because a copy of the entries would double the memory of each read.
  for (let index = headLength; index < line.length; index++)
    if (!reader.take(line[index])) return undefined;
  return reader.records;
}

function decodeLinkedRun(line: readonly unknown[]): readonly AppendRecord[] | undefined {
  const links = line.at(-1);
  const records = decodeRun([recordVersion, ...line.slice(1, -1)]);
  const last = records?.at(-1);
  if (records === undefined || last === undefined || !isLinks(links)) return undefined;
  return [...records.slice(0, -1), { ...last, links }];
}

function isLinks(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string');
}

class RunDecoder {
  readonly records: AppendRecord[] = [];
  readonly #head: Omit<RunHeader, 'offset'>;
  readonly #first: number;
  readonly #parts: { readonly id: PartId; end: number }[] = [];
  #current: { readonly id: PartId; end: number } | undefined;

  constructor(head: Omit<RunHeader, 'offset'>, first: number) {
    this.#head = head;
    this.#first = first;
  }

  /** Adds one entry. Returns false if the entry is invalid. */
  take(entry: unknown): boolean {
    if (typeof entry === 'string') return this.#append(entry);
    if (!Array.isArray(entry)) return this.#selectPart(entry);
    const [part, at, ...more] = entry as readonly unknown[];
    if (!isCount(at) || more.length > 0 || !this.#selectPart(part)) return false;
    if (this.#current !== undefined) this.#current.end = at;
    return true;
  }

  #append(chunk: string): boolean {
    const part = this.#current;
    if (part === undefined || chunk.length > defaultContentLimits.maxTextLength) return false;
    const { time, turn, attempt, producer } = this.#head;
    const offset = this.#first + this.records.length;
    const delta = { type: 'append_text', partId: part.id, at: part.end, chunk } as const;
    this.records.push({ v: recordVersion, offset, time, turn, attempt, producer, delta });
    part.end += chunk.length;
    return true;
  }

  #selectPart(part: unknown): boolean {
    if (typeof part === 'string' && isPartId(part)) {
      this.#current = { id: part as PartId, end: 0 };
      this.#parts.push(this.#current);
    } else this.#current = typeof part === 'number' ? this.#parts[part] : undefined;
    return this.#current !== undefined;
  }
}
