import { type JsonValue, parseJson } from '@millrace/core';
import type { Fold, HistoryEntry, SourcedText } from '../editor/editor-state.ts';
import { countLines, plainText } from '../editor/folded-text.ts';

export const maxHistoryEntries = 1000;

/** Returns true if a text is added to the history. A text that starts with a space is not added. */
export function isRecorded(text: string): boolean {
  return text.trim() !== '' && !text.startsWith(' ');
}

/** Returns the entry for a text of the prompt. */
export function entryOf({
  text,
  folds,
  typed,
  drops = [],
}: SourcedText & Pick<HistoryEntry, 'drops'>): HistoryEntry {
  const kept = drops.filter((drop) => text.includes(drop));
  return {
    text,
    ...(folds.length > 0 && { folds }),
    ...(typed < text.length && { typed }),
    ...(kept.length > 0 && { drops: kept }),
  };
}

/** Adds an entry as the newest one. An older entry with the same text is removed. */
export function addEntry(
  entries: readonly HistoryEntry[],
  entry: HistoryEntry,
): readonly HistoryEntry[] {
  const others = entries.filter(({ text }) => text !== entry.text);
  return [...others, entry].slice(-maxHistoryEntries);
}

/** Formats an entry as one line of the history file, without the newline at the end. */
export function historyLine({ text, folds = [], typed, drops }: HistoryEntry): string {
  const ranges = folds.map(({ start, end }) => [start, end]);
  return JSON.stringify({ text, folds: ranges.length > 0 ? ranges : undefined, typed, drops });
}

/**
 * Parses a line of the history file. Returns undefined if the line is incomplete or has a different
 * format.
 */
export function parseHistoryLine(line: string): HistoryEntry | undefined {
  if (line === '') return undefined;
  const parsed = parseJson(line);
  if (!parsed.ok || !isObject(parsed.value)) return undefined;
  const { text, folds, typed, drops } = parsed.value;
  if (typeof text !== 'string') return undefined;
  const plain = plainText(text);
  const kept = plain === text ? foldsIn(text, folds) : [];
  return {
    text: plain,
    ...(kept.length > 0 && { folds: kept }),
    // A value that is no number of characters counts as zero.
    ...(typed !== undefined && { typed: typeof typed === 'number' && typed > 0 ? typed : 0 }),
    ...(Array.isArray(drops) && { drops: drops.filter((drop) => typeof drop === 'string') }),
  };
}

function isObject(value: JsonValue): value is { readonly [key: string]: JsonValue } & {
  readonly text?: JsonValue;
  readonly folds?: JsonValue;
  readonly typed?: JsonValue;
  readonly drops?: JsonValue;
} {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the folds. Returns an empty list if they are not in order or not inside the text. */
function foldsIn(text: string, ranges: JsonValue | undefined): readonly Fold[] {
  if (!Array.isArray(ranges)) return [];
  let last = 0;
  const folds = ranges.flatMap((range): readonly Fold[] => {
    const [start, end] = Array.isArray(range) ? range : [];
    const areOffsets = Number.isInteger(start) && Number.isInteger(end);
    if (!areOffsets || typeof start !== 'number' || typeof end !== 'number') return [];
    if (start < last || start >= end || end > text.length) return [];
    last = end;
    return [{ start, end, lines: countLines(text.slice(start, end)) }];
  });
  return folds.length === ranges.length ? folds : [];
}
