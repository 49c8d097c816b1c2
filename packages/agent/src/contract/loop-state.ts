import {
  type ErrorInfo,
  type ExecutionId,
  type GuardrailVerdict,
  type ItemId,
  itemId,
  type JsonValue,
  type RunId,
  type SessionId,
  type Stop,
  type ToolCallId,
  type TraceContext,
} from '@millrace/core';
import type { QueuedCommand } from './command.ts';
import type { BlockedBy } from './run.ts';

/**
 * The state of the loop. It contains everything that the loop needs to know about a session, except the
 * items. It is computed from the records on the log.
 */
export interface LoopState {
  readonly run: RunState | undefined;
  /** The current turn. It has started but has not finished. */
  readonly turn: TurnState | undefined;
  /** The trace of the current or last run. A turn that waits for an answer continues in this trace. */
  readonly trace: TraceContext | undefined;
  /** The number of the last turn. */
  readonly lastTurn: number;
  /** The stop of the last finished turn, with its reason. */
  readonly lastStop: Stop | undefined;
  /** The last error of the current run. */
  readonly lastError: ErrorInfo | undefined;
  /** True if there is input that no request has contained yet. */
  readonly hasInput: boolean;
  /** The result of the last compaction. */
  readonly compacted: Compacted;
  /**
   * The turn in which a provider most recently rejected reasoning. Requests omit the reasoning of earlier
   * turns. 0 if no reasoning was rejected.
   */
  readonly rejectedReasoning: number;
  /**
   * The number of tokens that the last request and its answer used. It serves as an estimate for the next
   * request.
   */
  readonly lastTokens: number;
  /** The agent that the session was handed off to. */
  readonly agent: string | undefined;
  /** The last turn before the hand-off to this agent. 0 if there was none. */
  readonly handedAtTurn: number;
  /**
   * The agent that the last run works for, if an enqueued input names it. The run was open, or it took this input.
   * While a run or a turn is open, a worker continues it only with this agent.
   */
  readonly enqueuedFor?: string | undefined;
  /** The settings that this session has because it is a branch of another session. */
  readonly branch?: BranchSettings | undefined;
  /** The verdicts of guardrails on inputs. */
  readonly inputs: InputVerdicts;
  /** The guardrail that stopped this run. */
  readonly blockedBy: BlockedBy | undefined;
  /**
   * The standing approvals: the key of a rule and an agent (`standingKey`), with the time until which such calls are
   * allowed.
   */
  readonly standingApprovals: ReadonlyMap<string, number>;
  /** The queued commands, in the order of arrival. */
  readonly commands: readonly QueuedCommand[];
}

/** The settings that replace those of the agent in a branch. */
interface BranchSettings {
  /** The agent that had the session when the branch was made. The settings apply only to this agent. */
  readonly agent: string | undefined;
  readonly model: string | undefined;
  readonly instructions: string | undefined;
}

/** The verdicts of guardrails on inputs. */
export interface InputVerdicts {
  /**
   * The verdicts, by a key that `verdictKey` computes from the item and the guardrail. The map contains only
   * the inputs of the last request.
   */
  readonly verdicts: LayeredMap<string, GuardrailVerdict>;
  /** True if the model has answered these inputs. The next verdict then replaces all of `verdicts`. */
  readonly isAnswered: boolean;
  /** For each changed input: its id, and the id of the item that replaces it in requests. */
  readonly replaced: LayeredMap<ItemId, ItemId>;
  /** The inputs that are not sent in requests, because a guardrail stopped the run. */
  readonly withheld: ReadonlySet<ItemId>;
  /**
   * The inputs that arrived after the response of an open turn. Output guardrails can still replace this response by an
   * answer that stands after these inputs, although no model has read them. The next request answers them.
   */
  readonly late: LayeredMap<ItemId, true>;
}

/**
 * A map that never changes. Adding an entry copies few entries, so a state can have many entries and get a new one
 * with each record. The layers are plain maps, because the log stores the state. A later layer has priority.
 */
export type LayeredMap<K, V> = readonly ReadonlyMap<K, V>[];

export function getLayered<K, V>(layers: LayeredMap<K, V>, key: K): V | undefined {
  return layers.findLast((layer) => layer.has(key))?.get(key);
}

/** Returns the map with this entry. Each layer has more entries than the next one, so there are only few layers. */
export function setLayered<K, V>(layers: LayeredMap<K, V>, key: K, value: V): LayeredMap<K, V> {
  let added: ReadonlyMap<K, V> = new Map([[key, value]]);
  let count = layers.length;
  for (; count > 0; count--) {
    const layer = layers[count - 1];
    if (layer === undefined || layer.size > added.size) break;
    added = new Map([...layer, ...added]);
  }
  return [...layers.slice(0, count), added];
}

export function filterLayered<K, V>(
  layers: LayeredMap<K, V>,
  isKept: (key: K) => boolean,
): LayeredMap<K, V> {
  const kept = layers.map((layer) => new Map([...layer].filter(([key]) => isKept(key))));
  return kept.filter(({ size }) => size > 0);
}

/** The id of the summary of a compaction in requests, and in the verdicts of input guardrails. */
export const summaryId: ItemId = itemId('summary');

/** Returns the key under which a guardrail's verdict on an input is stored. */
export function verdictKey(item: ItemId, guardrail: string): string {
  return `${item} ${guardrail}`;
}

export interface Compacted {
  /**
   * The items that requests no longer contain: compacted items, and the items in which summaries were
   * written.
   */
  readonly covered: ReadonlySet<ItemId>;
  /** The text that replaces the compacted items. */
  readonly summary: string | undefined;
  /** The items that requests contain in clipped form, with their maximum length in characters. */
  readonly clipped: ReadonlyMap<ItemId, number>;
}

interface RunState {
  readonly id: RunId;
  /** The number of the run's first turn. */
  readonly firstTurn: number;
  /**
   * The number of turns that this run has started. The first turn that this run finishes may have been
   * started by an earlier run.
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
  /** The number of the last attempt to send the request of this turn. 0 before the first attempt. */
  readonly attempt: number;
  readonly isSuperseded: boolean;
  /** The item to which the attempt writes the model's answer. */
  readonly itemId: ItemId | undefined;
  /** The item with the results of the turn's tool calls. */
  readonly toolItemId: ItemId | undefined;
  /** The stop of the response, with its reason. Undefined while the response streams. */
  readonly stop: Stop | undefined;
  readonly calls: ReadonlyMap<ToolCallId, CallState>;
  /** The agent that takes over after this turn, if a tool call hands off. */
  readonly handedTo: string | undefined;
  /** True if the turn writes a summary. Such a turn is not part of the conversation. */
  readonly isCompaction: boolean;
  /** The value of `LoopState.hasInput` before this turn. */
  readonly hadInput: boolean;
  /** The verdicts of the guardrails on the answer of this attempt, by the name of the guardrail. */
  readonly verdicts: ReadonlyMap<string, GuardrailVerdict>;
  /** Set if a guardrail stopped the run in this turn, or if a guardrail failed. */
  readonly halt: GuardrailHalt | undefined;
  /** The names of the tools that the request offered. Undefined means all tools of the agent. */
  readonly offered: readonly string[] | undefined;
}

/** The guardrail that ended a turn. */
interface GuardrailHalt {
  readonly by: string;
  /** True if the guardrail failed, so that there is no verdict. */
  readonly isError: boolean;
}

/** The decisions on a tool call, and its executions. The result itself is in the tool item. */
export interface CallState {
  readonly isAsked: boolean;
  /** Set if this entry is a question of a sub-agent, and not a call of the session itself. */
  readonly question: QuestionState | undefined;
  /** The rule for a standing approval of this call and similar calls. */
  readonly rule: string | undefined;
  /** The names of the nested agents that ask. Empty for a call of the session itself. */
  readonly askedBy: readonly string[];
  /** The text that the question to the user is about, for example the real path of a file. */
  readonly judged: string | undefined;
  readonly answer: ApprovalAnswer | undefined;
  /** True if the loop has asked a client for the output of the call. */
  readonly isAwaited: boolean;
  readonly isRejected: boolean;
  /** The most recent execution of the call. */
  readonly execution: ExecutionState | undefined;
  readonly executions: number;
  /** The verdicts of the guardrails on this call, by the name of the guardrail. */
  readonly verdicts: ReadonlyMap<string, GuardrailVerdict>;
  /** The input with which a guardrail replaced the call's input, and the name of the guardrail. */
  readonly changed: ChangedInput | undefined;
  /** Set if a guardrail requires the user's approval for the call. Contains the guardrail's reason. */
  readonly asking: { readonly reason: string | undefined } | undefined;
}

interface ChangedInput {
  readonly input: JsonValue;
  readonly by: string;
}

interface QuestionState {
  /** The id of the call that runs the sub-agent. */
  readonly of: ToolCallId;
  /** The name of the tool that the sub-agent wants to call. */
  readonly name: string;
}

export interface ApprovalAnswer {
  readonly decision: 'allow' | 'deny';
  readonly reason: string | undefined;
  readonly by: string | undefined;
  readonly input: JsonValue | undefined;
  /** The state that the user saw. */
  readonly basis: string | undefined;
}

interface ExecutionState {
  readonly id: ExecutionId;
  readonly name: string;
  /** True if the outcome is unknown, because the process died during the execution. */
  readonly isLost: boolean;
  /** True if the execution ended without a result, because its sub-agent waits for an answer. */
  readonly isParked: boolean;
  /** True if the tool has returned a result. If this result is no longer on the log, the call does not run again. */
  readonly isDone: boolean;
  readonly isRunning: boolean;
  /** The session of the sub-agent, if the tool runs a sub-agent, and the session that started it. */
  readonly child: SessionId | undefined;
  readonly parent: SessionId | undefined;
}

export const newCallState: CallState = {
  isAsked: false,
  question: undefined,
  rule: undefined,
  askedBy: [],
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
  handedAtTurn: 0,
  inputs: {
    verdicts: [],
    isAnswered: false,
    replaced: [],
    withheld: new Set(),
    late: [],
  },
  blockedBy: undefined,
  standingApprovals: new Map(),
  commands: [],
};
