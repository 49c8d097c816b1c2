import type { ChatState } from '../state/chat-state.ts';
import type { Entry, ThoughtEntry } from '../state/entry.ts';
import { isOver } from '../state/tool-card.ts';
import { duration } from './amounts.ts';
import { blockLines, thoughtLines } from './block-lines.ts';
import { finishedCall, liveCall, type Moment } from './call-lines.ts';
import { fitted } from './lines.ts';
import { inTone, type Look } from './look.ts';
import type { Printer } from './printer.ts';

/** Of what the model thinks, while it does. */
const foldedLines = 3;

export interface LiveOptions {
  /** Lines at most. */
  readonly room: number;
  readonly moment: Moment;
  /** Knows what of an answer is printed already. */
  readonly printer: Pick<Printer, 'preview' | 'continues'>;
}

/**
 * What is open, in lines, the last ones where there is not room for all. They go right below what was
 * printed, and so begin with an empty line, unless they go on with it.
 */
export function liveLines(
  look: Look,
  { entries }: ChatState,
  { room, moment, printer }: LiveOptions,
): readonly string[] {
  if (room <= 0) return [];
  const lines: string[] = [];
  // From the end, so that what nobody will see is not drawn.
  for (const [index, entry] of [...entries.entries()].reverse()) {
    if (lines.length >= room) break;
    const own = entryLines(look, entry, { room, moment, printer });
    const isApart = lines.length > 0 && own.length > 0 && !isCompact(entry, entries[index + 1]);
    lines.unshift(...own, ...(isApart ? [''] : []));
  }
  const [first] = entries;
  const goesOn = first?.kind === 'text' && printer.continues(first);
  const isSpaced = goesOn || lines.length === 0 || lines[0] === '';
  return fitted(look, (isSpaced ? lines : ['', ...lines]).slice(-room));
}

function isCompact(entry: Entry, next: Entry | undefined): boolean {
  return entry.kind === 'call' && next?.kind === 'call';
}

function entryLines(
  look: Look,
  entry: Entry,
  { room, moment, printer }: LiveOptions,
): readonly string[] {
  switch (entry.kind) {
    case 'text':
      return printer.preview(look, entry).slice(-room);
    case 'thought':
      return thinking(look, entry, room, moment);
    case 'call':
      return isOver(entry.card)
        ? finishedCall(look, entry.card)
        : liveCall(look, entry.card, moment);
    case 'said':
      return blockLines(look, { type: 'said', text: entry.text, author: entry.author });
    case 'note':
      return blockLines(look, entry.block);
  }
}

function thinking(
  look: Look,
  { text, startedAt, finishedAt }: ThoughtEntry,
  room: number,
  { now }: Moment,
): readonly string[] {
  const took = duration((finishedAt ?? now) - startedAt);
  const head = inTone(look, 'dim', `∴ thinking · ${took}`);
  const kept = look.isUnfolded ? room - 1 : Math.min(foldedLines, room - 1);
  // Far more than fits, so that a long thought costs no more than a short one.
  const end = text.slice(-Math.max(1, kept) * look.width * 2);
  return kept <= 0 || text === '' ? [head] : [head, ...thoughtLines(look, end).slice(-kept)];
}
