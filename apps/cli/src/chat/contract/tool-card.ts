import type { ExecutionId, JsonValue, SessionId, ToolCallId } from '@millrace/core';

/** The data of a tool call that the chat shows, from the first streamed argument to the result. */
export interface ToolCard {
  readonly id: ToolCallId;
  readonly name: string;
  readonly phase: CardPhase;
  /** The arguments while the model writes them. */
  readonly draft: ArgumentsDraft;
  /** The complete arguments. */
  readonly input: JsonValue | undefined;
  /** The tool's description of what the call will do. */
  readonly summary: string | undefined;
  readonly execution: ExecutionId | undefined;
  readonly startedAt: number | undefined;
  readonly finishedAt: number | undefined;
  /** The output during the execution. */
  readonly output: Tail;
  readonly result: CardResult | undefined;
  /** The session of the sub-agent. Undefined if the call runs no sub-agent. */
  readonly child: SessionId | undefined;
}

export type CardPhase = 'writing' | 'ready' | 'asking' | 'running' | CardOutcome;

/**
 * The outcome of a call. `stopped`: the user stopped the call while it ran. `unstarted`: the user
 * stopped the call before it ran.
 */
type CardOutcome = 'done' | 'failed' | 'stopped' | 'unstarted' | 'rejected' | 'lost';

/** The part of a result that is shown. */
export interface CardResult {
  readonly text: string;
  /** The number of characters of the complete result. `text` may be shorter. */
  readonly length: number;
  readonly value: JsonValue | undefined;
  /** The text of a renderer, which is shown in place of the result. Default: none. */
  readonly display?: string | undefined;
}

/**
 * The arguments of a call while the model writes them. Only the start and the newest text are
 * stored.
 */
export interface ArgumentsDraft {
  readonly head: string;
  /** The text after the head. If it is long, only its end. */
  readonly tail: string;
  readonly length: number;
}

/**
 * The end of a growing text. Older text is dropped, so the cost of an update does not depend on the
 * length.
 */
export interface Tail {
  readonly text: string;
  /** Number of line breaks in the dropped text. */
  readonly droppedLines: number;
}
