import type { HistoryEntry } from './editor-state.ts';

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
