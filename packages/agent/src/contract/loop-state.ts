import type {
  ErrorInfo,
  ExecutionId,
  GuardrailVerdict,
  ItemId,
  JsonValue,
  RunId,
  SessionId,
  Stop,
  ToolCallId,
  TraceContext,
} from '@millrace/core';
import type { QueuedCommand } from './command.ts';
import type { BlockedBy } from './run.ts';

/**
 * The state of the loop. It has everything that the loop needs to know about a session, except its items.
 * It is a fold of the log.
 */
export interface LoopState {
  readonly run: RunState | undefined;
  /** The current turn, which has started and not finished. */
  readonly turn: TurnState | undefined;
  /** The trace of the current or last run. A turn that waits continues in this trace. */
  readonly trace: TraceContext | undefined;
  /** The number of the last turn. */
  readonly lastTurn: number;
  /** The stop of the last finished turn. */
  readonly lastStop: Stop | undefined;
  /** The last error of the current run. */
  readonly lastError: ErrorInfo | undefined;
  /** True if there is input that no request has contained yet. */
  readonly hasInput: boolean;
  /** The result of the last compaction. */
  readonly compacted: Compacted;
  /**
   * The turn in which a provider last rejected reasoning. The reasoning of earlier turns is not sent
   * again. 0 if none was rejected.
   */
  readonly rejectedReasoning: number;
  /** The number of tokens of the last request and its answer. It is an estimate for the next request. */
  readonly lastTokens: number;
  /** The agent that the session was handed off to. */
  readonly agent: string | undefined;
  /** The agent that the last enqueued input names. A worker runs the session with it. */
  readonly enqueuedFor: string | undefined;
  /** The verdicts of guardrails on inputs. */
  readonly inputs: InputVerdicts;
  /** The guardrail that stopped this run. */
  readonly blockedBy: BlockedBy | undefined;
  /** The standing approvals, as rules with the time until which each is allowed. */
  readonly standingApprovals: ReadonlyMap<string, number>;
  /** The queued commands, in order. */
  readonly commands: readonly QueuedCommand[];
}

/** The verdicts of guardrails on inputs. */
export interface InputVerdicts {
  /**
   * The verdicts, by the key that `verdictKey` makes of the item and the guardrail. Only the inputs of
   * the last request are included.
   */
  readonly verdicts: ReadonlyMap<string, GuardrailVerdict>;
  /** True after a response to these inputs. The next verdict then clears the map. */
  readonly isAnswered: boolean;
  /** The id of each changed input, and the id of the item that requests contain in its place. */
  readonly replaced: ReadonlyMap<ItemId, ItemId>;
  /** The inputs that no request contains, because a guardrail stopped the run. */
  readonly withheld: ReadonlySet<ItemId>;
}

/** Returns the key of a guardrail's verdict on an input. */
export function verdictKey(item: ItemId, guardrail: string): string {
  return `${item} ${guardrail}`;
}

export interface Compacted {
  /**
   * The items that are no longer sent: compacted items, and the items in which summaries were written.
   */
  readonly covered: ReadonlySet<ItemId>;
  /** The text that replaces the compacted items. */
  readonly summary: string | undefined;
  /** Items that are sent clipped, with their maximum length in characters. */
  readonly clipped: ReadonlyMap<ItemId, number>;
}

interface RunState {
  readonly id: RunId;
  /** The number of the run's first turn. */
  readonly firstTurn: number;
  /**
   * The number of turns that this run has started. Another run may have started the first turn that this
   * run finishes.
   */
  readonly turns: number;
  readonly finishedTurns: number;
  readonly aborted: Aborted | undefined;
}

interface Aborted {
  readonly reason: string | undefined;
}

export interface TurnState {
  readonly turn: number;
  /** The number of the last attempt at the request. 0 before the first attempt. */
  readonly attempt: number;
  readonly isSuperseded: boolean;
  /** The item that the attempt writes its answer to. */
  readonly itemId: ItemId | undefined;
  /** The item with the results of the turn's calls. */
  readonly toolItemId: ItemId | undefined;
  /** The stop of the response. Undefined while it streams. */
  readonly stop: Stop | undefined;
  readonly calls: ReadonlyMap<ToolCallId, CallState>;
  /** The agent that takes over after this turn. */
  readonly handedTo: string | undefined;
  /** True if the turn writes a summary and is not part of the conversation. */
  readonly isCompaction: boolean;
  /** The value of `LoopState.hasInput` before this turn. */
  readonly hadInput: boolean;
  /** The verdicts of the guardrails on the answer of this attempt, by name. */
  readonly verdicts: ReadonlyMap<string, GuardrailVerdict>;
  /** Set if a guardrail stopped the run in this turn, or failed. */
  readonly halt: GuardrailHalt | undefined;
  /** The names of the tools that the request offered. Undefined: all tools of the agent. */
  readonly offered: readonly string[] | undefined;
}

/** The guardrail that ended a turn. */
interface GuardrailHalt {
  readonly by: string;
  /** True if the guardrail failed and therefore gave no verdict. */
  readonly isError: boolean;
}

/** The decisions on a call, and its executions. The result itself is in the tool item. */
export interface CallState {
  readonly isAsked: boolean;
  /** Set if this entry is not a call of the session but a question of a sub-agent. */
  readonly question: QuestionState | undefined;
  /** The rule that a standing approval would apply to. */
  readonly rule: string | undefined;
  /** The text that the user was asked about, for example the real path of a file. */
  readonly judged: string | undefined;
  readonly answer: ApprovalAnswer | undefined;
  /** True if a client was asked for the output of the call. */
  readonly isAwaited: boolean;
  readonly isRejected: boolean;
  /** The last execution. */
  readonly execution: ExecutionState | undefined;
  readonly executions: number;
  /** The verdicts of the guardrails on this call, by name. */
  readonly verdicts: ReadonlyMap<string, GuardrailVerdict>;
  /** The input that a guardrail gave to the call, and the name of the guardrail. */
  readonly changed: ChangedInput | undefined;
  /** Set if a guardrail asks the user about the call, with the guardrail's reason. */
  readonly asking: { readonly reason: string | undefined } | undefined;
}

interface ChangedInput {
  readonly input: JsonValue;
  readonly by: string;
}

interface QuestionState {
  /** The call of the session that runs the sub-agent. */
  readonly of: ToolCallId;
  /** The name of the tool that the sub-agent wants to call. */
  readonly name: string;
}

export interface ApprovalAnswer {
  readonly decision: 'allow' | 'deny';
  readonly reason: string | undefined;
  readonly by: string | undefined;
  readonly input: JsonValue | undefined;
}

interface ExecutionState {
  readonly id: ExecutionId;
  readonly name: string;
  /** True if the outcome is unknown, because the process died during the execution. */
  readonly isLost: boolean;
  /** True if the execution ended without a result, because its sub-agent waits for an answer. */
  readonly isParked: boolean;
  readonly isRunning: boolean;
  /** The session of the sub-agent, if the tool runs one. */
  readonly child: SessionId | undefined;
}

export const newCallState: CallState = {
  isAsked: false,
  question: undefined,
  rule: undefined,
  judged: undefined,
  answer: undefined,
  isAwaited: false,
  isRejected: false,
  execution: undefined,
  executions: 0,
  verdicts: new Map(),
  changed: undefined,
  asking: undefined,
};

export const emptyLoopState: LoopState = {
  run: undefined,
  turn: undefined,
  trace: undefined,
  lastTurn: 0,
  lastStop: undefined,
  lastError: undefined,
  hasInput: false,
  rejectedReasoning: 0,
  compacted: { covered: new Set(), summary: undefined, clipped: new Map() },
  lastTokens: 0,
  agent: undefined,
  enqueuedFor: undefined,
  inputs: {
    verdicts: new Map(),
    isAnswered: false,
    replaced: new Map(),
    withheld: new Set(),
  },
  blockedBy: undefined,
  standingApprovals: new Map(),
  commands: [],
};
