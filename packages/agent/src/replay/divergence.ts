import { type DraftRecord, encodeDraft, type LogRecord } from '@millrace/core';
import type { Divergence } from '../contract/replay.ts';

export function divergenceAt(expected: LogRecord, found: readonly DraftRecord[]): Divergence {
  const { offset } = expected;
  const fields = found[0] ? differingFields(expected, found[0]) : [];
  const message = `Record ${offset} is ${describe(expected)}, but ${describeFound(found, fields)}`;
  return { offset, expected, found, message };
}

function describeFound(found: readonly DraftRecord[], fields: readonly string[]): string {
  if (found.length === 0) return 'the loop writes nothing';
  if (fields.length > 0) return `the loop writes one with a different ${fields.join(', ')}`;
  return `the loop writes ${found.map(describe).join(', ')}`;
}

/**
 * Returns the names of the fields that differ. Returns an empty list if the two records have different types.
 */
function differingFields(expected: LogRecord, found: DraftRecord): readonly string[] {
  const [one, other] = [contentOf(expected), contentOf(found)];
  if (one['type'] !== other['type']) return [];
  const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...keys].filter((key) => !hasSameContent(one[key], other[key]));
}

function contentOf({ delta, fact }: DraftRecord | LogRecord): Readonly<Record<string, unknown>> {
  return (fact ?? delta ?? {}) as unknown as Readonly<Record<string, unknown>>;
}

function describe({ delta, fact, turn, attempt }: DraftRecord | LogRecord): string {
  const type = fact?.type ?? delta?.type ?? 'nothing';
  const of = fact !== undefined && 'name' in fact ? ` of ${fact.name}` : '';
  return turn === 0 ? `${type}${of}` : `${type}${of} (turn ${turn}, attempt ${attempt})`;
}

/** Returns true if the log would store the draft as exactly this record. */
export function isSameDraft(draft: DraftRecord, record: LogRecord): boolean {
  if (draft.turn !== record.turn || draft.attempt !== record.attempt) return false;
  const [drafted, recorded] = [draft.delta ?? draft.fact, record.delta ?? record.fact];
  if (drafted === recorded) return true;
  if (drafted.type !== recorded.type) return false;
  return hasSameContent(storedForm(draft), storedForm(record));
}

/**
 * Returns the stored form of a record, without the fields that can be computed from it. The order of keys is
 * not significant, because `hasSameContent` ignores it.
 */
function storedForm({ turn, attempt, delta, fact }: DraftRecord | LogRecord): unknown {
  const at = { turn, attempt };
  const draft: DraftRecord = fact === undefined ? { ...at, delta } : { ...at, fact };
  return JSON.parse(encodeDraft(draft));
}

/** Returns true if two values of records are equal. The values are JSON, or the bytes of media. */
export function hasSameContent(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null)
    return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  if (ArrayBuffer.isView(one) !== ArrayBuffer.isView(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every(
      (key) =>
        Object.hasOwn(other, key) && hasSameContent(Reflect.get(one, key), Reflect.get(other, key)),
    )
  );
}
