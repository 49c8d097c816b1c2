import { type JsonValue, parseJson } from '@millrace/core';
import type { Fold, HistoryEntry } from '../editor/editor-state.ts';
import { countLines, plainText } from '../editor/folded-text.ts';

export const maxHistoryEntries = 1000;

/** What begins with a space was meant not to be kept. */
export function isKept(text: string): boolean {
  return text.trim() !== '' && !text.startsWith(' ');
}

/** With one more, the newest. The same text is there once. */
export function withEntry(
  entries: readonly HistoryEntry[],
  entry: HistoryEntry,
): readonly HistoryEntry[] {
  const others = entries.filter(({ text }) => text !== entry.text);
  return [...others, entry].slice(-maxHistoryEntries);
}

/** A line of the file, without its end. */
export function historyLine({ text, folds = [] }: HistoryEntry): string {
  const ranges = folds.map(({ start, end }) => [start, end]);
  return JSON.stringify(ranges.length > 0 ? { text, folds: ranges } : { text });
}

/** Nothing for a line that is none: it was torn, or written by somebody else. */
export function parseHistoryLine(line: string): HistoryEntry | undefined {
  if (line === '') return undefined;
  const parsed = parseJson(line);
  if (!parsed.ok || !isObject(parsed.value)) return undefined;
  const { text, folds } = parsed.value;
  if (typeof text !== 'string') return undefined;
  const plain = plainText(text);
  const kept = plain === text ? foldsIn(text, folds) : [];
  return kept.length > 0 ? { text, folds: kept } : { text: plain };
}

function isObject(value: JsonValue): value is { readonly [key: string]: JsonValue } & {
  readonly text?: JsonValue;
  readonly folds?: JsonValue;
} {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** All of them if they are in order and inside of the text, else none. */
function foldsIn(text: string, told: JsonValue | undefined): readonly Fold[] {
  if (!Array.isArray(told)) return [];
  let last = 0;
  const folds = told.flatMap((range): readonly Fold[] => {
    const [start, end] = Array.isArray(range) ? range : [];
    const areOffsets = Number.isInteger(start) && Number.isInteger(end);
    if (!areOffsets || typeof start !== 'number' || typeof end !== 'number') return [];
    if (start < last || start >= end || end > text.length) return [];
    last = end;
    return [{ start, end, lines: countLines(text.slice(start, end)) }];
  });
  return folds.length === told.length ? folds : [];
}
