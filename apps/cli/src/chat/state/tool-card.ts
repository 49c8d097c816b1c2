import type { JsonValue, ToolCallId, ToolResultPart } from '@millrace/core';
import type { EventOf } from '../contract/chat-state.ts';
import type { ArgumentsDraft, CardPhase, Tail, ToolCard } from '../contract/tool-card.ts';

/** Maximum length of a stored result. No screen shows more of it. */
const maxShownLength = 24_000;

export function newCard(id: ToolCallId, name: string, phase: CardPhase): ToolCard {
  return {
    ...{ id, name, phase, draft: emptyDraft, input: undefined, summary: undefined },
    ...{ execution: undefined, startedAt: undefined, finishedAt: undefined, output: emptyTail },
    ...{ result: undefined, child: undefined },
  };
}

export function isOver({ phase }: ToolCard): boolean {
  return !['writing', 'ready', 'asking', 'running'].includes(phase);
}

/**
 * Adds a result to a card. A running call keeps its state until the event about its end arrives.
 */
export function withResult(card: ToolCard, part: ToolResultPart): ToolCard {
  const { text, value, isError, metadata } = part;
  const length = printedLength(value) ?? text.length;
  const shown = metadata?.['display'];
  const display = typeof shown === 'string' ? headAndTail(shown) : undefined;
  const result = {
    text: headAndTail(text),
    length,
    value,
    ...(display !== undefined && { display }),
  };
  return { ...card, result, phase: card.phase === 'done' && isError ? 'failed' : card.phase };
}

function headAndTail(text: string): string {
  const half = maxShownLength / 2;
  return text.length <= maxShownLength ? text : `${text.slice(0, half)}\n${text.slice(-half)}`;
}

/**
 * Returns the length of the full output of a command. Returns undefined if the result text contains
 * the full output.
 */
function printedLength(value: JsonValue | undefined): number | undefined {
  const { outputLength, wholeOutput } = (value ?? {}) as {
    readonly outputLength?: unknown;
    readonly wholeOutput?: unknown;
  };
  return wholeOutput !== undefined && typeof outputLength === 'number' ? outputLength : undefined;
}

export function startCard(card: ToolCard, event: EventOf<'tool_execution_started'>): ToolCard {
  const { summary, executionId: execution, child, time: startedAt } = event;
  return { ...card, phase: 'running', summary, execution, startedAt, child, output: emptyTail };
}

export function finishCard(
  card: ToolCard,
  event: EventOf<'tool_execution_finished'>,
  isStopping: boolean,
): ToolCard {
  const { isError, outcome, time: finishedAt } = event;
  if (outcome === 'parked') return { ...card, phase: 'asking' };
  const failed = isStopping ? 'stopped' : 'failed';
  const phase = outcome === 'lost' ? 'lost' : isError ? failed : 'done';
  return { ...card, phase, finishedAt };
}

export function rejectCard(card: ToolCard, event: EventOf<'tool_call_rejected'>): ToolCard {
  const { message, code, time: finishedAt } = event;
  const result = { text: message, length: message.length, value: undefined };
  return { ...card, phase: code === 'aborted' ? 'unstarted' : 'rejected', finishedAt, result };
}

const emptyDraft: ArgumentsDraft = { head: '', tail: '', length: 0 };

const headLength = 1024;

const tailLength = 1024;

/** Appends text to the draft. The cost depends only on the length of the appended text. */
export function appendArguments(draft: ArgumentsDraft, more: string): ArgumentsDraft {
  const room = Math.max(0, headLength - draft.head.length);
  const head = room === 0 ? draft.head : draft.head + more.slice(0, room);
  const tail = draft.tail + more.slice(room);
  const isLong = tail.length > 2 * tailLength;
  const length = draft.length + more.length;
  return { head, tail: isLong ? tail.slice(-tailLength) : tail, length };
}

export const emptyTail: Tail = { text: '', droppedLines: 0 };

const keptTailLength = 4096;

/**
 * Appends text to the tail. The tail is cut only when its length is twice the limit. So cuts are
 * rare.
 */
export function appendTail(tail: Tail, more: string): Tail {
  const text = tail.text + more;
  if (text.length <= 2 * keptTailLength) return { ...tail, text };
  const cut = cutPosition(text, text.length - keptTailLength);
  const dropped = countLines(text.slice(0, cut));
  return { text: text.slice(cut), droppedLines: tail.droppedLines + dropped };
}

/**
 * Returns the last lines, and the number of lines above them. A newline at the end does not start a
 * new line.
 */
export function lastLines(
  tail: Tail,
  count: number,
): { readonly lines: readonly string[]; readonly above: number } {
  const lines = tail.text.replace(/\r?\n$/, '').split('\n');
  const shown = count <= 0 ? [] : lines.slice(-count);
  if (tail.text === '') return { lines: [], above: tail.droppedLines };
  return { lines: shown, above: tail.droppedLines + lines.length - shown.length };
}

/**
 * Returns the position for a cut. It is at a line break if one is near, and never inside a
 * surrogate pair.
 */
function cutPosition(text: string, at: number): number {
  const lineBreak = text.indexOf('\n', at);
  if (lineBreak !== -1 && lineBreak < at + keptTailLength / 2) return lineBreak + 1;
  const isPair = /[\udc00-\udfff]/.test(text.charAt(at));
  return isPair ? at + 1 : at;
}

function countLines(text: string): number {
  return text.split('\n').length - 1;
}
