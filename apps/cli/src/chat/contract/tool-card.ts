import type { ExecutionId, JsonValue, SessionId, ToolCallId } from '@millrace/core';

/** The end of a text that grows. What is far back is dropped, so that it costs the same however long it gets. */
export interface Tail {
  readonly text: string;
  /** Line breaks in what was dropped. */
  readonly droppedLines: number;
}

/** What is known of a call's arguments while the model writes them: how they begin, and their end so far. */
export interface ArgumentsDraft {
  readonly head: string;
  /** What came after the head, or the last of it. */
  readonly tail: string;
  readonly length: number;
}

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
