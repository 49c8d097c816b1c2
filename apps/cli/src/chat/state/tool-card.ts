import type { ExecutionId, JsonValue, SessionId, ToolCallId, ToolResultPart } from '@millrace/core';
import { type ArgumentsDraft, emptyDraft } from './arguments-draft.ts';
import type { EventOf } from './event-of.ts';
import { emptyTail, type Tail } from './tail.ts';

/** A tool call as people see it, from the first letter of its arguments to its result. */
export interface ToolCard {
  readonly id: ToolCallId;
  readonly name: string;
  readonly phase: CardPhase;
  /** While the model writes them. */
  readonly draft: ArgumentsDraft;
  /** When they are whole. */
  readonly input: JsonValue | undefined;
  /** What it is about to do, in the tool's own words. */
  readonly summary: string | undefined;
  readonly execution: ExecutionId | undefined;
  readonly startedAt: number | undefined;
  readonly finishedAt: number | undefined;
  /** What it prints meanwhile. */
  readonly output: Tail;
  readonly result: CardResult | undefined;
  /** The session of the sub-agent that it is. */
  readonly child: SessionId | undefined;
}

export type CardPhase = 'writing' | 'ready' | 'asking' | 'running' | CardOutcome;

/** `stopped`: by somebody, while it ran. `unstarted`: the same, before it did. */
type CardOutcome = 'done' | 'failed' | 'stopped' | 'unstarted' | 'rejected' | 'lost';

/** What of a result is shown. */
export interface CardResult {
  readonly text: string;
  /** How much there is. */
  readonly length: number;
  readonly value: JsonValue | undefined;
}

/** More than a screen shows of one result. */
const shownLength = 24_000;

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

/** What a call that runs came to is known by the word that it ended, which comes next. */
export function withResult(card: ToolCard, { text, value, isError }: ToolResultPart): ToolCard {
  const length = printedLength(value) ?? text.length;
  const result = { text: bothEnds(text), length, value };
  return { ...card, result, phase: card.phase === 'done' && isError ? 'failed' : card.phase };
}

function bothEnds(text: string): string {
  const half = shownLength / 2;
  return text.length <= shownLength ? text : `${text.slice(0, half)}\n${text.slice(-half)}`;
}

/** How much a command printed, where the text is less than that. */
function printedLength(value: JsonValue | undefined): number | undefined {
  const { outputLength, wholeOutput } = (value ?? {}) as {
    readonly outputLength?: unknown;
    readonly wholeOutput?: unknown;
  };
  return wholeOutput !== undefined && typeof outputLength === 'number' ? outputLength : undefined;
}

export function started(card: ToolCard, event: EventOf<'tool_execution_started'>): ToolCard {
  const { summary, executionId: execution, child, time: startedAt } = event;
  return { ...card, phase: 'running', summary, execution, startedAt, child, output: emptyTail };
}

export function finished(
  card: ToolCard,
  event: EventOf<'tool_execution_finished'>,
  isStopping: boolean,
): ToolCard {
  const { isError, outcome, time: finishedAt } = event;
  const failed = isStopping ? 'stopped' : 'failed';
  const phase = outcome === 'lost' ? 'lost' : isError ? failed : 'done';
  return { ...card, phase, finishedAt };
}

export function rejected(card: ToolCard, event: EventOf<'tool_call_rejected'>): ToolCard {
  const { message, code, time: finishedAt } = event;
  const result = { text: message, length: message.length, value: undefined };
  return { ...card, phase: code === 'aborted' ? 'unstarted' : 'rejected', finishedAt, result };
}
