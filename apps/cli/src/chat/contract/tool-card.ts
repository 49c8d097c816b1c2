import type { ExecutionId, JsonValue, SessionId, ToolCallId } from '@millrace/core';

/** A tool call as the user sees it, from its first argument character to its result. */
export interface ToolCard {
  readonly id: ToolCallId;
  readonly name: string;
  readonly phase: CardPhase;
  /** The arguments while the model writes them. */
  readonly draft: ArgumentsDraft;
  /** The complete arguments. */
  readonly input: JsonValue | undefined;
  /** The tool's own description of what it will do. */
  readonly summary: string | undefined;
  readonly execution: ExecutionId | undefined;
  readonly startedAt: number | undefined;
  readonly finishedAt: number | undefined;
  /** The output during the execution. */
  readonly output: Tail;
  readonly result: CardResult | undefined;
  /** Session of the sub-agent, if the call runs one. */
  readonly child: SessionId | undefined;
}

export type CardPhase = 'writing' | 'ready' | 'asking' | 'running' | CardOutcome;

/**
 * How a call ended. `stopped`: the user stopped the call while it ran. `unstarted`: the user
 * stopped the call before it ran.
 */
type CardOutcome = 'done' | 'failed' | 'stopped' | 'unstarted' | 'rejected' | 'lost';

/** The part of a result that is shown. */
export interface CardResult {
  readonly text: string;
  /** Number of characters of the complete result, before it was clipped. */
  readonly length: number;
  readonly value: JsonValue | undefined;
}

/**
 * The arguments of a call while the model writes them. Only the beginning and the newest text are
 * stored.
 */
export interface ArgumentsDraft {
  readonly head: string;
  /** The text after the head. Only its last part if it is long. */
  readonly tail: string;
  readonly length: number;
}

/** The end of a growing text. Older text is dropped, so an update costs the same for any length. */
export interface Tail {
  readonly text: string;
  /** Number of line breaks in the dropped text. */
  readonly droppedLines: number;
}
