import type { PartId } from '@millrace/core';
import { type Block, note } from './block.ts';
import type { Entry, SaidEntry, TextEntry, ThoughtEntry } from './entry.ts';
import { isOver } from './tool-card.ts';

export interface Drained {
  readonly entries: readonly Entry[];
  readonly blocks: readonly Block[];
  /** The parts of which something is printed now. */
  readonly parts: readonly PartId[];
}

/** Takes from the front what is finished. What comes after something that is not, waits. */
export function drain(entries: readonly Entry[]): Drained {
  const first = entries[0];
  if (first === undefined || isWaiting(first)) return { entries, blocks: [], parts: [] };
  const blocks: Block[] = [];
  const parts: PartId[] = [];
  let left = entries;
  for (let head = left[0]; head !== undefined && !isWaiting(head); head = left[0]) {
    const more = blocksOf(head);
    blocks.push(...more);
    if (more.length > 0 && 'partId' in head && head.partId !== undefined) parts.push(head.partId);
    if (isFinished(head)) left = left.slice(1);
    else left = [{ ...head, ready: [] } as Entry, ...left.slice(1)];
  }
  return { entries: left, blocks, parts };
}

/** Nothing of it can be printed now. */
function isWaiting(entry: Entry): boolean {
  return !isFinished(entry) && !(entry.kind === 'text' && entry.ready.length > 0);
}

function isFinished(entry: Entry): boolean {
  switch (entry.kind) {
    case 'text':
    case 'thought':
      return entry.end === 'done';
    case 'call':
      return isOver(entry.card) && !entry.isLoose;
    case 'said':
      return entry.isDone;
    case 'note':
      return true;
  }
}

function blocksOf(entry: Entry): readonly Block[] {
  switch (entry.kind) {
    case 'text':
      return answers(entry);
    case 'thought':
      return thoughts(entry);
    case 'call':
      return [{ type: 'call', card: entry.card }];
    case 'said':
      return words(entry);
    case 'note':
      return [entry.block];
  }
}

function answers({ partId, ready, stream, end }: TextEntry): readonly Block[] {
  const passages = end === 'done' ? [...ready, ...stream.end()] : ready;
  return passages.length === 0 ? [] : [{ type: 'answer', partId, passages }];
}

/** Of what cannot be read it is said that it was there. */
function thoughts({ text, form, startedAt, finishedAt }: ThoughtEntry): readonly Block[] {
  if (text.trim() === '' && form !== 'redacted') return [];
  return [{ type: 'thought', text, form, tookMs: (finishedAt ?? startedAt) - startedAt }];
}

function words({ by, text, author }: SaidEntry): readonly Block[] {
  if (text.trim() === '') return [];
  return by === 'user' ? [{ type: 'said', text, author }] : [note('mark', text)];
}
