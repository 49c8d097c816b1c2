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
  if (at !== undefined) return { ...at, field: fieldOf(a), a: at.a ?? endA, b: at.b ?? endB };
  if (!hasSameContent(a.value?.value, b.value?.value))
    return { field: 'value', a: a.value ?? endA, b: b.value ?? endB };
  if (a.end?.state !== b.end?.state) return { field: 'end', a: endA, b: endB };
  const isRetracted = a.retracted !== undefined;
  if (isRetracted === (b.retracted !== undefined)) return undefined;
  // Only one session has the retraction of a committed part.
  return { field: 'presence', a: a.retracted, b: b.retracted };
}

function fieldOf({ head, pieces }: PartContent): string {
  if (head['kind'] === 'tool_call') return 'arguments';
  return typeof pieces[0]?.chunk === 'object' ? 'bytes' : 'text';
}

interface PieceDifference {
  readonly at: number;
  /** The piece with the first differing unit. Undefined if the content ends before it. */
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

/** Returns the places at which two JSON values differ. The time is linear in the size of the values. */
export function valueChanges(
  a: JsonValue | undefined,
  b: JsonValue | undefined,
): readonly ValueChange[] {
  const changes: ValueChange[] = [];
  collectChanges(changes, [], a, b);
  return changes;
}

/** Adds the differences of two values. `path` contains the keys that lead to them. */
function collectChanges(
  changes: ValueChange[],
  path: (string | number)[],
  a: JsonValue | undefined,
  b: JsonValue | undefined,
): void {
  if (Object.is(a, b) || changes.length >= maxChanges) return;
  const compare = (key: string | number, one?: JsonValue, other?: JsonValue) => {
    path.push(key);
    collectChanges(changes, path, one, other);
    path.pop();
  };
  if (Array.isArray(a) && Array.isArray(b)) {
    const length = Math.max(a.length, b.length);
    for (let at = 0; at < length && changes.length < maxChanges; at++) {
      const [one, other] = [a[at], b[at]];
      if (!Object.is(one, other)) compare(at, one, other);
    }
  } else if (isObject(a) && isObject(b)) {
    for (const key of Object.keys(a))
      compare(key, a[key], Object.hasOwn(b, key) ? b[key] : undefined);
    for (const key of Object.keys(b)) if (!Object.hasOwn(a, key)) compare(key, undefined, b[key]);
  } else changes.push({ path: pointerOf(path), a, b });
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the JSON pointer of a place. */
function pointerOf(path: readonly (string | number)[]): string {
  const escaped = (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1');
  return path.map((key) => `/${escaped(String(key))}`).join('');
}
