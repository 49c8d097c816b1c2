import { isDeepStrictEqual } from 'node:util';
import type { DraftRecord, LogRecord } from '@millrace/core';

/** Where a replay would have written something else than was recorded. */
export interface Divergence {
  /** Of the record that should have come. */
  readonly offset: number;
  readonly expected: LogRecord;
  /** What the loop wanted to write instead; nothing where it waits for something that does not come. */
  readonly found: readonly DraftRecord[];
  /** What differs, in a sentence. */
  readonly message: string;
}

export function divergenceAt(expected: LogRecord, found: readonly DraftRecord[]): Divergence {
  const { offset } = expected;
  const fields = found[0] ? differingFields(expected, found[0]) : [];
  const message = `Record ${offset} is ${nameOf(expected)}, and ${insteadOf(found, fields)}`;
  return { offset, expected, found, message };
}

function insteadOf(found: readonly DraftRecord[], fields: readonly string[]): string {
  if (found.length === 0) return 'nothing comes';
  if (fields.length > 0) return `the loop writes one of another ${fields.join(', ')}`;
  return `the loop writes ${found.map(nameOf).join(', ')}`;
}

/** Where both are of one type: what they say differently, without what that is. */
function differingFields(expected: LogRecord, found: DraftRecord): readonly string[] {
  const [one, other] = [contentOf(expected), contentOf(found)];
  if (one['type'] !== other['type']) return [];
  const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...keys].filter((key) => !isDeepStrictEqual(one[key], other[key]));
}

function contentOf({ delta, fact }: DraftRecord | LogRecord): Readonly<Record<string, unknown>> {
  return (fact ?? delta ?? {}) as unknown as Readonly<Record<string, unknown>>;
}

function nameOf({ delta, fact, turn, attempt }: DraftRecord | LogRecord): string {
  const type = fact?.type ?? delta?.type ?? 'nothing';
  const of = fact !== undefined && 'name' in fact ? ` of ${fact.name}` : '';
  return turn === 0 ? `${type}${of}` : `${type}${of} (turn ${turn}, attempt ${attempt})`;
}
