import type { ToolCallId } from '@millrace/core';
import type { Block } from '../contract/block.ts';
import type { ChatState } from '../contract/chat-state.ts';
import type { Entry, ThoughtEntry } from '../contract/entry.ts';
import type { ToolCard } from '../contract/tool-card.ts';
import { isOver } from '../state/tool-card.ts';
import { finishedCall, liveCall, type Moment } from './call-lines.ts';
import { fitted, inTone, type Look } from './look.ts';
import { blockLines, isApart, type Printer, thoughtLines } from './printer.ts';

/** Of what the model thinks, while it does. */
const foldedLines = 3;

interface LiveOptions {
  /** Lines at most. */
  readonly room: number;
  readonly moment: Moment;
  /** Knows what of an answer is printed already. */
  readonly printer: Pick<Printer, 'preview' | 'isApart'>;
  /** A call that is asked about, and shown there. */
  readonly askedId?: ToolCallId | undefined;
}

/**
 * What is open, in lines, the last ones where there is not room for all. They go right below what was
 * printed, and so begin with an empty line, unless they go on with it.
 */
export function liveLines(
  look: Look,
  { entries }: ChatState,
  { room, moment, printer, askedId }: LiveOptions,
): readonly string[] {
  if (room <= 0) return [];
  const others = entries.filter((entry) => entry.kind !== 'call' || entry.card.id !== askedId);
  const { shown, folded } = crowded(others);
  const running = shown.filter((entry) => entry.kind === 'call' && !isOver(entry.card)).length;
  // Each of those that run is seen, rather than all of what one of them prints.
  const most = running < 2 ? room : Math.floor((room - folded.length) / running) - 1;
  const lines: string[] = folded.map((text) => inTone(look, 'dim', text));
  // From the end, so that what nobody will see is not drawn.
  for (const [index, entry] of [...shown.entries()].reverse()) {
    if (lines.length >= room) break;
    const own = entryLines(look, entry, { room, moment, printer }, most);
    const next = shown[index + 1];
    const isSpaced = lines.length > 0 && own.length > 0 && next !== undefined;
    const gap = isSpaced && isApart(becomes(entry), becomes(next)) ? [''] : [];
    lines.unshift(...own, ...gap);
  }
  const [first] = others;
  if (first === undefined || lines.length === 0) return [];
  const isSpaced = lines[0] !== '' && printer.isApart(becomes(first));
  return fitted(look, (isSpaced ? ['', ...lines] : lines).slice(-room));
}

/** What it will be printed as, so that nothing moves when it is. */
function becomes(entry: Entry): Block {
  switch (entry.kind) {
    case 'text':
      return { type: 'answer', partId: entry.partId, passages: [] };
    case 'thought':
      return { type: 'thought', text: entry.text, form: entry.form, tookMs: 0 };
    case 'call':
      return { type: 'call', card: entry.card };
    case 'said':
      return { type: 'said', text: entry.text, author: entry.author };
    case 'note':
      return entry.block;
  }
}

function entryLines(
  look: Look,
  entry: Entry,
  { room, moment, printer }: LiveOptions,
  most: number,
): readonly string[] {
  switch (entry.kind) {
    case 'text':
      return printer.preview(look, entry).slice(-room);
    case 'thought':
      return thinking(look, entry, room);
    case 'call':
      return isOver(entry.card)
        ? finishedCall(look, entry.card)
        : liveCall(look, entry.card, moment, most);
    case 'said':
      return blockLines(look, { type: 'said', text: entry.text, author: entry.author });
    case 'note':
      return blockLines(look, entry.block);
  }
}

/** For how long is said below, with what goes on. */
function thinking(look: Look, { text }: ThoughtEntry, room: number): readonly string[] {
  const head = inTone(look, 'dim', '∴ thinking');
  const kept = look.isUnfolded ? room - 1 : Math.min(foldedLines, room - 1);
  // Far more than fits, so that a long thought costs no more than a short one.
  const end = text.slice(-Math.max(1, kept) * look.width * 2);
  return kept <= 0 || text === '' ? [head] : [head, ...thoughtLines(look, end).slice(-kept)];
}

interface Crowded {
  readonly shown: readonly Entry[];
  /** What stands for the others: a line, or none. */
  readonly folded: readonly string[];
}

/** So many calls that do nothing now are shown. */
const maxIdle = 3;

/** Where there are many calls, those that wait, or are over and not printed yet, are counted. */
export function crowded(entries: readonly Entry[]): Crowded {
  const waiting = entries.filter((one) => one.kind === 'call' && isWaiting(one.card));
  const over = entries.filter((one) => one.kind === 'call' && isOver(one.card));
  if (waiting.length + over.length <= maxIdle) return { shown: entries, folded: [] };
  const hidden = new Set([...waiting, ...over]);
  const counted = [
    ...(over.length > 0 ? [`${over.length} done`] : []),
    ...(waiting.length > 0 ? [`${waiting.length} wait`] : []),
  ];
  const shown = entries.filter((one) => !hidden.has(one));
  return { shown, folded: [`+ ${counted.join(', ')}`] };
}

function isWaiting({ phase }: ToolCard): boolean {
  return phase === 'ready' || phase === 'asking';
}
