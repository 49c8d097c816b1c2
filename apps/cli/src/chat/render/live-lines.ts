import type { ToolCallId } from '@millrace/core';
import type { Block } from '../contract/block.ts';
import type { ChatState } from '../contract/chat-state.ts';
import type { Entry, ThoughtEntry } from '../contract/entry.ts';
import type { ToolCard } from '../contract/tool-card.ts';
import { isOver } from '../state/tool-card.ts';
import { finishedCall, liveCall, type Moment } from './call-lines.ts';
import { fitLines, type Look, withTone } from './look.ts';
import { blockLines, needsGap, type Printer, thoughtLines } from './printer.ts';

/** Maximum number of lines of folded reasoning. */
const maxFoldedLines = 3;

interface LiveOptions {
  /** Maximum number of lines. */
  readonly room: number;
  readonly moment: Moment;
  /** Renders the part of an answer that is not printed yet. */
  readonly printer: Pick<Printer, 'preview' | 'needsGap'>;
  /** The id of the call that a dialog shows. The live lines do not contain this call. */
  readonly dialogCallId?: ToolCallId | undefined;
}

/**
 * Draws the unfinished content. If it does not fit, only the last lines are returned.
 *
 * The live lines are directly below the printed content. So they start with an empty line, unless
 * they continue the last printed block.
 */
export function liveLines(
  look: Look,
  { entries }: ChatState,
  { room, moment, printer, dialogCallId }: LiveOptions,
): readonly string[] {
  if (room <= 0) return [];
  const others = entries.filter((entry) => entry.kind !== 'call' || entry.card.id !== dialogCallId);
  const { shown, folded } = foldIdleCalls(others);
  const running = shown.filter((entry) => entry.kind === 'call' && !isOver(entry.card)).length;
  // If several calls run, each call gets the same number of lines, so that all calls are visible.
  const maxLines = running < 2 ? room : Math.floor((room - folded.length) / running) - 1;
  const lines: string[] = folded.map((text) => withTone(look, 'dim', text));
  // The loop starts at the last entry. So entries that do not fit on the screen are not drawn.
  for (const [index, entry] of [...shown.entries()].reverse()) {
    if (lines.length >= room) break;
    const own = entryLines(look, entry, { room, moment, printer }, maxLines);
    const next = shown[index + 1];
    const isSpaced = lines.length > 0 && own.length > 0 && next !== undefined;
    const gap = isSpaced && needsGap(printedAs(entry), printedAs(next)) ? [''] : [];
    lines.unshift(...own, ...gap);
  }
  const [first] = others;
  if (first === undefined || lines.length === 0) return [];
  const isSpaced = lines[0] !== '' && printer.needsGap(printedAs(first));
  return fitLines(look, (isSpaced ? ['', ...lines] : lines).slice(-room));
}

/**
 * Returns the block that the entry will become. The live lines use the gaps of that block, so lines
 * do not move when it is printed.
 */
function printedAs(entry: Entry): Block {
  switch (entry.kind) {
    case 'text':
      return { type: 'answer', partId: entry.partId, passages: [] };
    case 'thought':
      return { type: 'thought', text: entry.text, form: entry.form, tookMs: 0 };
    case 'call':
      return { type: 'call', card: entry.card };
    case 'message':
      return { type: 'message', text: entry.text, author: entry.author };
    case 'note':
      return entry.block;
  }
}

function entryLines(
  look: Look,
  entry: Entry,
  { room, moment, printer }: LiveOptions,
  maxLines: number,
): readonly string[] {
  switch (entry.kind) {
    case 'text':
      return printer.preview(look, entry).slice(-room);
    case 'thought':
      return thinkingLines(look, entry, room);
    case 'call':
      return isOver(entry.card)
        ? finishedCall(look, entry.card)
        : liveCall(look, entry.card, moment, maxLines);
    case 'message':
      return blockLines(look, { type: 'message', text: entry.text, author: entry.author });
    case 'note':
      return blockLines(look, entry.block);
  }
}

/** Draws streaming reasoning. The activity line below shows its duration. */
function thinkingLines(look: Look, { text }: ThoughtEntry, room: number): readonly string[] {
  const head = withTone(look, 'dim', '∴ thinking');
  const kept = look.showsReasoning ? room - 1 : Math.min(maxFoldedLines, room - 1);
  // Only the end of the text is wrapped, so the cost does not depend on the length of the text.
  const end = text.slice(-Math.max(1, kept) * look.width * 2);
  return kept <= 0 || text === '' ? [head] : [head, ...thoughtLines(look, end).slice(-kept)];
}

interface FoldedCalls {
  readonly shown: readonly Entry[];
  /** A line with the number of hidden calls. Empty if no call is hidden. */
  readonly folded: readonly string[];
}

/** Up to this many waiting and finished calls are shown separately. */
const maxIdleCalls = 3;

/**
 * If there are many waiting and finished calls, replaces them by one line with their number. The
 * number does not include finished calls that are already printed.
 */
export function foldIdleCalls(entries: readonly Entry[]): FoldedCalls {
  const waiting = entries.filter((one) => one.kind === 'call' && isWaiting(one.card));
  const over = entries.filter((one) => one.kind === 'call' && isOver(one.card));
  if (waiting.length + over.length <= maxIdleCalls) return { shown: entries, folded: [] };
  const hidden = new Set([...waiting, ...over]);
  const counted = [
    ...(over.length > 0 ? [`${over.length} done`] : []),
    ...(waiting.length > 0 ? [`${waiting.length} waiting`] : []),
  ];
  const shown = entries.filter((one) => !hidden.has(one));
  return { shown, folded: [`+ ${counted.join(', ')}`] };
}

function isWaiting({ phase }: ToolCard): boolean {
  return phase === 'ready' || phase === 'asking';
}
