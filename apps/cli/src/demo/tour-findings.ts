import { fieldOf } from '../models/json-field.ts';
import type { Step } from './conversation.ts';
import { type FolderListing, readListing } from './folder-listing.ts';

/** What the tour has found out so far, all of it from real results. */
export interface Findings {
  readonly listing: FolderListing;
  /** Files that were read: name, lines, and its heading or first line. */
  readonly read: readonly ReadFile[];
  /** Where something is left to do, if that was looked for. */
  readonly reminders?: number | undefined;
  /** The folder that was looked into as well, and how much is in it. */
  readonly inner?: { readonly name: string; readonly count: number } | undefined;
}

interface ReadFile {
  readonly name: string;
  readonly lines: number;
  readonly hasMore: boolean;
  readonly first: string;
  readonly text: string;
}

export function findingsOf(steps: readonly Step[]): Findings {
  const [first, second] = steps.filter(({ name, result }) => name === 'ls' && !result.isError);
  const grep = steps.find(({ name, result }) => name === 'grep' && !result.isError);
  const matches = fieldOf(grep?.result.value, 'matches');
  const inner = second && readListing(second.result.text);
  return {
    listing: readListing(first?.result.text ?? ''),
    read: steps.flatMap((step) => (step.name === 'read' ? readFile(step) : [])),
    reminders: typeof matches === 'number' ? matches : undefined,
    inner: inner && {
      name: pathOf(second),
      count: inner.files.length + inner.folders.length,
    },
  };
}

function readFile(step: Step): readonly ReadFile[] {
  const { text, isError } = step.result;
  if (isError) return [];
  // Lines come as the number, a tab and the line; what has none is a note.
  const lines = text.split('\n').flatMap((line) => /^\d+\t(.*)$/.exec(line)?.[1] ?? []);
  const heading = lines.find((line) => /^#{1,3} \S/.test(line))?.replace(/^#+ /, '');
  const first = heading ?? lines.find((line) => /\p{L}/u.test(line))?.trim() ?? '';
  const shown = first.length > 60 ? `${first.slice(0, 59).toWellFormed()}…` : first;
  const hasMore = text.includes('More follow');
  return [
    { name: pathOf(step), lines: lines.length, hasMore, first: shown, text: lines.join('\n') },
  ];
}

function pathOf(step: Step): string {
  const path = fieldOf(step.input, 'path');
  return typeof path === 'string' ? path : '.';
}
