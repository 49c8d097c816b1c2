import type {
  ErrorInfo,
  ExecutionId,
  ItemId,
  JsonValue,
  RunId,
  Stop,
  ToolCallId,
  TraceContext,
} from '@millrace/core';
import type { QueuedCommand } from './command.ts';

/** What the loop has to know of a session, besides its items. A fold of the log, like these. */
export interface LoopState {
  readonly run: RunState | undefined;
  /** The one that was started and is not finished. */
  readonly turn: TurnState | undefined;
  /** Of the run that goes on, or of the last one: what a turn that waits goes on in. */
  readonly trace: TraceContext | undefined;
  /** The number of the last one there was. */
  readonly lastTurn: number;
  /** How the last finished one ended. */
  readonly lastStop: Stop | undefined;
  /** What went wrong last, in this run. */
  readonly lastError: ErrorInfo | undefined;
  /** Something was said that no request has had yet. */
  readonly hasInput: boolean;
  /** What the last compaction made of the session, for what a model is sent. */
  readonly compacted: Compacted;
  /** Tokens of the last request and its answer: about how long the next one is. */
  readonly lastTokens: number;
  /** Whom it was handed to. */
  readonly agent: string | undefined;
  /** What was allowed for longer than one call, by rule: until this time. */
  readonly standingApprovals: ReadonlyMap<string, number>;
  /** Those that wait, in order. */
  readonly commands: readonly QueuedCommand[];
}

export interface Compacted {
  /** What is not sent any more, and where summaries were written. */
  readonly covered: ReadonlySet<ItemId>;
  /** What stands for them. */
  readonly summary: string | undefined;
}

interface RunState {
  readonly id: RunId;
  /** Turns that it has started, and finished: the first may be one that another run left open. */
  readonly turns: number;
  readonly finishedTurns: number;
  readonly aborted: Aborted | undefined;
}

interface Aborted {
  readonly reason: string | undefined;
}

export interface TurnState {
  readonly turn: number;
  /** The last try at its request; 0 before the first. */
  readonly attempt: number;
  readonly isSuperseded: boolean;
  /** What the try is written to. */
  readonly itemId: ItemId | undefined;
  /** Where the answers to its calls are. */
  readonly toolItemId: ItemId | undefined;
  /** How the response ended. */
  readonly stop: Stop | undefined;
  readonly calls: ReadonlyMap<ToolCallId, CallState>;
  /** Whom the session is handed to when the turn is over. */
  readonly handedTo: string | undefined;
  /** It is not part of the conversation: a summary is made. */
  readonly isCompaction: boolean;
  /** There was something that no request has had yet, before this turn. */
  readonly hadInput: boolean;
}

/** What was decided on a call, and done. Its result is in the tool item. */
export interface CallState {
  readonly isAsked: boolean;
  /** What an answer that lasts is about. */
  readonly rule: string | undefined;
  readonly answer: ApprovalAnswer | undefined;
  readonly isRejected: boolean;
  /** The last one. */
  readonly execution: ExecutionState | undefined;
  readonly executions: number;
}

interface ApprovalAnswer {
  readonly decision: 'allow' | 'deny';
  readonly reason: string | undefined;
  readonly input: JsonValue | undefined;
}

interface ExecutionState {
  readonly id: ExecutionId;
  readonly name: string;
  /** Nobody knows what became of it. */
  readonly isLost: boolean;
  readonly isRunning: boolean;
}

export const newCallState: CallState = {
  isAsked: false,
  rule: undefined,
  answer: undefined,
  isRejected: false,
  execution: undefined,
  executions: 0,
};

export const emptyLoopState: LoopState = {
  run: undefined,
  turn: undefined,
  trace: undefined,
  lastTurn: 0,
  lastStop: undefined,
  lastError: undefined,
  hasInput: false,
  compacted: { covered: new Set(), summary: undefined },
  lastTokens: 0,
  agent: undefined,
  standingApprovals: new Map(),
  commands: [],
};
