import {
  type AppendText,
  type DeltaRecord,
  defaultLimits,
  isPartId,
  type PartId,
  recordVersion,
} from '@millrace/core';
import { isCount } from '../engine/check-options.ts';

/** What most records are: a few more characters of a text. */
export type AppendRecord = DeltaRecord & { readonly delta: AppendText };

type RunHeader = Pick<AppendRecord, 'offset' | 'time' | 'turn' | 'attempt' | 'producer'>;

/**
 * Appends with adjacent offsets that share all but their content, as one JSON array: the version, the
 * first one's offset, then what they share, then what grows:
 *
 * - a text is the next append, to the part that is growing, at its end;
 * - a number turns to that part, at its end; parts count from 0 in the order in which they come;
 * - [part, at] turns to a part at a place; one that was not named before has its id instead of a number.
 *
 * No objects are in it, so that JSON.parse can be trusted (core's json/escaped-keys.ts tells why not).
 */
export function encodeRun(first: AppendRecord, run: readonly AppendRecord[]): string {
  const { offset, time, turn, attempt, producer } = first;
  const line: unknown[] = [recordVersion, offset, time, turn, attempt, producer];
  /** The number of each part, and where it ended. */
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

/** Does the one follow the other in a run? */
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

/** Takes nothing for granted: whatever is not as `encodeRun` writes it is undefined. */
export function decodeRun(line: readonly unknown[]): readonly AppendRecord[] | undefined {
  const [version, offset, time, turn, attempt, producer, ...entries] = line;
  const isHead = version === recordVersion && [offset, time, turn, attempt].every(isCount);
  if (!isHead || typeof producer !== 'string') return undefined;
  const head = { time, turn, attempt, producer } as Omit<RunHeader, 'offset'>;
  const reader = new RunDecoder(head, offset as number);
  return entries.every((entry) => reader.take(entry)) ? reader.records : undefined;
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

  /** False where it does not fit. */
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
    if (part === undefined || chunk.length > defaultLimits.maxTextLength) return false;
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
