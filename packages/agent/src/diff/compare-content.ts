import type { JsonObject, JsonValue } from '@millrace/core';
import { hasSameContent } from '../replay/divergence.ts';
import { lengthOf, type PartContent, type Piece, type RecordPlace } from './content.ts';
import type { DifferingText, ValueChange } from './session-diff.ts';

/** The first difference of two parts. A side is undefined if its session has no such record. */
export interface ContentDifference {
  readonly field: string;
  readonly a: RecordPlace | undefined;
  readonly b: RecordPlace | undefined;
  /** The position of the first difference, if texts or bytes differ. */
  readonly at?: number;
}

/** Returns the first difference of two parts, or undefined if they have the same content. */
export function compareParts(a: PartContent, b: PartContent): ContentDifference | undefined {
  const keys = new Set([...Object.keys(a.head), ...Object.keys(b.head)]);
  for (const field of keys)
    if (!hasSameContent(a.head[field], b.head[field])) return { field, a: a.first, b: b.first };
  const [endA, endB] = [a.end ?? a.retracted, b.end ?? b.retracted];
  const at = firstDifference(a.pieces, b.pieces);
  if (at !== undefined) {
    // If only one commit replaced a streamed text, both sessions may have the same streamed text.
    const isReplaced = a.replaced !== undefined;
    const records =
      isReplaced === (b.replaced !== undefined)
        ? at
        : firstDifference(a.replaced ?? a.pieces, b.replaced ?? b.pieces);
    const places = { a: records?.a ?? endA, b: records?.b ?? endB };
    return { at: at.at, field: contentField(a), ...places };
  }
  if (!hasSameContent(a.value?.value, b.value?.value))
    return { field: 'value', a: a.value ?? endA, b: b.value ?? endB };
  if (a.end?.state !== b.end?.state) return { field: 'end', a: endA, b: endB };
  const isRetracted = a.retracted !== undefined;
  if (isRetracted === (b.retracted !== undefined)) return undefined;
  // Only one session has the retraction of a committed part.
  return { field: 'presence', a: a.retracted, b: b.retracted };
}

function contentField({ head, pieces }: PartContent): string {
  if (head['kind'] === 'tool_call') return 'arguments';
  return typeof pieces[0]?.chunk === 'object' ? 'bytes' : 'text';
}

interface PieceDifference {
  readonly at: number;
  /** The piece of `a` at the first difference. Undefined if the content of `a` ends there. */
  readonly a: Piece | undefined;
  readonly b: Piece | undefined;
}

/**
 * Returns the first position at which two contents differ, and the records that appended this position. The
 * lengths of the pieces do not matter. The time is linear in the length of the common part.
 */
function firstDifference(a: readonly Piece[], b: readonly Piece[]): PieceDifference | undefined {
  let [atA, atB, usedA, usedB, position] = [0, 0, 0, 0, 0];
  for (;;) {
    const [one, other] = [a[atA], b[atB]];
    if (one === undefined && other === undefined) return undefined;
    if (one === undefined || other === undefined) return { at: position, a: one, b: other };
    const length = Math.min(one.chunk.length - usedA, other.chunk.length - usedB);
    const same = commonLength(one.chunk, usedA, other.chunk, usedB, length);
    position += same;
    if (same < length) return { at: position, a: one, b: other };
    usedA += length;
    usedB += length;
    if (usedA === one.chunk.length) [atA, usedA] = [atA + 1, 0];
    if (usedB === other.chunk.length) [atB, usedB] = [atB + 1, 0];
  }
}

function commonLength(
  a: string | Uint8Array,
  fromA: number,
  b: string | Uint8Array,
  fromB: number,
  length: number,
): number {
  const unitOf = (chunk: string | Uint8Array, at: number) =>
    typeof chunk === 'string' ? chunk.charCodeAt(at) : chunk[at];
  let same = 0;
  while (same < length && unitOf(a, fromA + same) === unitOf(b, fromB + same)) same++;
  return same;
}

/**
 * Returns the text of a part around a position, at most `maxLength` units. Returns undefined if the part has
 * no text.
 */
export function textAround(
  { pieces, head }: PartContent,
  at: number,
  maxLength: number,
): DifferingText | undefined {
  if (pieces.some(({ chunk }) => typeof chunk !== 'string')) return undefined;
  if (pieces.length === 0 && !textKinds.has(String(head['kind']))) return undefined;
  const length = lengthOf(pieces);
  // The text before the difference shows where the reader is. The text after it is more important.
  const start = length <= maxLength ? 0 : Math.max(0, at - Math.floor(maxLength / 4));
  let text = '';
  let position = 0;
  for (const { chunk } of pieces) {
    const end = position + chunk.length;
    if (end > start && position < start + maxLength)
      text += chunk.slice(Math.max(0, start - position), start + maxLength - position);
    position = end;
  }
  return { text: text.toWellFormed(), start, at, length };
}

const textKinds: ReadonlySet<string> = new Set(['text', 'reasoning', 'tool_call', 'tool_result']);

/** The maximum number of changed places of a value that are listed. */
const maxChanges = 50;

/**
 * The maximum length of a path, without escapes. Each listed place repeats its path, so long keys would make
 * the list much larger than the values. Places with longer paths are listed as a change of the value around
 * them.
 */
const maxPathLength = 1024;

/**
 * Returns the places at which two JSON values differ. It visits each value once, so the time is linear in the
 * size of both values.
 */
export function valueChanges(
  a: JsonValue | undefined,
  b: JsonValue | undefined,
): readonly ValueChange[] {
  const changes: ValueChange[] = [];
  compareValues({ a, b, keys: [], length: 0 }, changes);
  return changes;
}

/** Two values at the same place. `length` is the length of the path. */
interface ComparedValues {
  readonly a: JsonValue | undefined;
  readonly b: JsonValue | undefined;
  /** The keys that lead to the values. To avoid copies, all comparisons change the same list. */
  readonly keys: string[];
  readonly length: number;
}

function compareValues({ a, b, keys, length }: ComparedValues, changes: ValueChange[]): void {
  if (Object.is(a, b) || changes.length >= maxChanges) return;
  const names = commonNames(a, b, maxPathLength - length);
  if (names === undefined) {
    if (hasSameContent(a, b)) return;
    const path = keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
    changes.push({ path, a, b });
    return;
  }
  for (const name of names) {
    const [one, other] = [fieldOf(a, name), fieldOf(b, name)];
    if (Object.is(one, other)) continue;
    const key = String(name);
    keys.push(key);
    compareValues({ a: one, b: other, keys, length: length + 1 + key.length }, changes);
    keys.pop();
    if (changes.length >= maxChanges) return;
  }
}

/**
 * Returns the names of the fields of two containers, those of the first one first. Returns undefined if the
 * values cannot be compared by fields, or if a name is longer than `maxLength`.
 */
function commonNames(
  a: JsonValue | undefined,
  b: JsonValue | undefined,
  maxLength: number,
): Iterable<string | number> | undefined {
  if (!isContainer(a) || !isContainer(b) || Array.isArray(a) !== Array.isArray(b)) return undefined;
  if (Array.isArray(a) && Array.isArray(b)) {
    const count = Math.max(a.length, b.length);
    return String(count).length >= maxLength ? undefined : indexes(count);
  }
  const own = Object.keys(a);
  const names = [...own, ...Object.keys(b).filter((name) => !Object.hasOwn(a, name))];
  return names.some((name) => name.length >= maxLength) ? undefined : names;
}

function* indexes(count: number): Generator<number> {
  for (let index = 0; index < count; index++) yield index;
}

function fieldOf(value: JsonValue | undefined, name: string | number): JsonValue | undefined {
  if (!isContainer(value) || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string | number, JsonValue>>)[name];
}

function isContainer(value: JsonValue | undefined): value is JsonObject | readonly JsonValue[] {
  return typeof value === 'object' && value !== null;
}
