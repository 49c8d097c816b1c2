import type { ExecutionId, ItemId, PartId, RunId, SessionId, ToolCallId } from '../ids.ts';
import type { JsonObject, JsonValue } from '../json/json-value.ts';
import type { TraceContext } from '../trace/trace-context.ts';
import type { Author, ItemKind } from './item.ts';
import type { Metadata, Part } from './part.ts';
import type { ResponseDetails } from './response-details.ts';
import type { ErrorInfo, Stop } from './stop.ts';
import type { Usage } from './usage.ts';

/**
 * Something that happened. A fact carries the ids that it refers to and no content of parts, so it
 * can stay when the deltas around it are settled. Its turn and attempt are those of its record.
 */
export type Fact =
  | ItemFact
  | ResponseFact
  | RunFact
  | ToolFact
  | GuardrailFact
  | Snapshot
  | UnknownFact;

/** Facts about items. */
export type ItemFact =
  | {
      readonly type: 'item_started';
      readonly itemId: ItemId;
      readonly kind: ItemKind;
      readonly author?: Author;
      readonly metadata?: Metadata;
    }
  | { readonly type: 'item_finished'; readonly itemId: ItemId; readonly stop?: Stop }
  | { readonly type: 'item_redacted'; readonly itemId: ItemId; readonly reason?: string };

/** Facts about one attempt at a model request. */
export type ResponseFact =
  | {
      readonly type: 'response_started';
      readonly itemId: ItemId;
      readonly provider: string;
      readonly model: string;
      /** The names of the tools that the request offered. Missing: all tools of the agent. */
      readonly tools?: readonly string[];
    }
  /**
   * The provider ended the response. This fact finishes the item and is committed together with its
   * last parts.
   */
  | {
      readonly type: 'response_finished';
      readonly itemId: ItemId;
      readonly stop: Stop;
      readonly usage: Usage;
      /** What else the provider reported. Absent if it reported nothing. */
      readonly details?: ResponseDetails;
    }
  /** The usage of the attempt so far. The last report of an attempt counts. */
  | { readonly type: 'usage_reported'; readonly usage: Usage }
  /** Retracts every part and item of the record's attempt. */
  | { readonly type: 'attempt_superseded'; readonly reason: string }
  | { readonly type: 'retry_scheduled'; readonly error: ErrorInfo; readonly delayMs: number };

/** Facts about runs, turns and commands. */
export type RunFact =
  | {
      readonly type: 'run_started';
      readonly runId: RunId;
      /**
       * The trace that the run belongs to. The spans of the run are children of it in every
       * process.
       */
      readonly trace?: TraceContext;
    }
  | { readonly type: 'run_finished'; readonly runId: RunId; readonly stop: Stop }
  | { readonly type: 'turn_started' }
  | { readonly type: 'turn_finished'; readonly itemId?: ItemId; readonly stop: Stop }
  | { readonly type: 'aborted'; readonly reason?: string }
  | { readonly type: 'error_reported'; readonly error: ErrorInfo }
  | { readonly type: 'command_queued'; readonly key: string; readonly command: JsonObject }
  | {
      readonly type: 'command_consumed';
      readonly key: string;
      /** Why the command had no effect, for example because its type is unknown. */
      readonly error?: ErrorInfo;
    }
  | {
      readonly type: 'compacted';
      /** The items that the summary replaces in later requests to a model. */
      readonly itemIds: readonly ItemId[];
      readonly summary?: string;
      /**
       * Items that later requests contain in a clipped form, with their maximum length in UTF-16
       * units, because they did not fit into the model's context.
       */
      readonly clipped?: readonly { readonly itemId: ItemId; readonly maxLength: number }[];
    }
  | { readonly type: 'handed_off'; readonly to: string; readonly reason?: string };

/** Why a tool call was rejected without running. */
export type RejectionCode = 'invalid' | 'unknown' | 'denied' | 'aborted' | 'cut';

/** Facts about tool calls, approvals and executions. */
export type ToolFact =
  | {
      readonly type: 'tool_call_rejected';
      readonly toolCallId: ToolCallId;
      readonly name: string;
      readonly code: RejectionCode;
      readonly message: string;
    }
  | {
      readonly type: 'approval_asked';
      readonly toolCallId: ToolCallId;
      readonly name: string;
      readonly reason?: string;
      /** The rule that a lasting answer would apply to, in addition to this call. */
      readonly rule?: string;
      /** What the question is about, for example the real path of a file. An answer covers only this. */
      readonly judged?: string;
      /**
       * The sub-agent or the guardrail that asks. `toolCallId` and `name` are then those of the
       * question, and no call of this session has that id.
       */
      readonly from?: AskingAgent;
    }
  | {
      readonly type: 'approval_answered';
      readonly toolCallId: ToolCallId;
      readonly name: string;
      readonly decision: 'allow' | 'deny';
      readonly reason?: string;
      readonly by?: string;
      /** Replaces the input of the call, if the answer changed it. */
      readonly input?: JsonValue;
      /**
       * The answer also applies to later calls under the same rule: until this time, or until the
       * session ends.
       */
      readonly until?: number | 'session';
      /** The session of the sub-agent, if the answer was given there instead of here. */
      readonly answeredIn?: SessionId;
    }
  /** The call waits for a client that runs the tool and sends its output. */
  | {
      readonly type: 'tool_output_asked';
      readonly toolCallId: ToolCallId;
      readonly name: string;
      /** The input for the client, if the user or a guardrail changed it. */
      readonly input?: JsonValue;
    }
  | {
      readonly type: 'tool_execution_started';
      readonly toolCallId: ToolCallId;
      readonly name: string;
      readonly executionId: ExecutionId;
      /** One line for people. */
      readonly summary: string;
      /**
       * The session of the sub-agent that this execution runs. A later execution of the same call
       * continues it, if this one was parked or lost.
       */
      readonly child?: SessionId;
    }
  | {
      readonly type: 'tool_execution_finished';
      readonly toolCallId: ToolCallId;
      readonly name: string;
      readonly executionId: ExecutionId;
      readonly isError: boolean;
      /**
       * `discarded` with its attempt, `lost` with its process, or `parked` because its sub-agent
       * waits for an answer. In these cases there is no result.
       */
      readonly outcome: 'completed' | 'discarded' | 'lost' | 'parked';
    }
  /**
   * The usage of one attempt of a sub-agent, so that the totals of this session include it. The last
   * report of an attempt counts.
   */
  | {
      readonly type: 'child_usage_reported';
      /** The call that runs the sub-agent. */
      readonly toolCallId: ToolCallId;
      readonly name: string;
      readonly of: ChildAttempt;
      readonly usage: Usage;
    };

/** What a guardrail checks. */
export type GuardrailPlace = 'input' | 'output' | 'tool_call';

/** What a guardrail decided. `error`: it failed, and the run ends with an error. */
export type GuardrailVerdict = 'pass' | 'stop' | 'change' | 'ask' | 'error';

/** The verdict of a guardrail. A verdict on the log is not asked for again. */
export interface GuardrailFact {
  readonly type: 'guardrail_applied';
  /** The name of the guardrail. */
  readonly name: string;
  readonly on: GuardrailPlace;
  readonly verdict: GuardrailVerdict;
  readonly reason?: string;
  /** The item that was checked: an input, or the answer as it is after the verdict. */
  readonly itemId?: ItemId;
  /** The call that was checked. */
  readonly toolCallId?: ToolCallId;
  /** The item that requests contain instead of the input. Present if an input was changed. */
  readonly replacedBy?: ItemId;
  /** Replaces the input of the call, if the verdict changed it. */
  readonly input?: JsonValue;
}

/**
 * Who asks a question that no call of this session asks: a sub-agent, or a guardrail. The question of
 * a guardrail about an item has its own id as `toolCallId`.
 */
export interface AskingAgent {
  /** The call of this session that runs the sub-agent. */
  readonly toolCallId: ToolCallId;
  /** The names of the agents, from the sub-agent of this session to the agent that asks. */
  readonly agents: readonly string[];
  /** The session of the agent that asks. */
  readonly session: SessionId;
  /** The input of the call that it asks about, as the model wrote it, or as a guardrail changed it. */
  readonly input: JsonValue;
  /** The item that a guardrail asks about. */
  readonly itemId?: ItemId;
}

/** One attempt at a model request, in the session of a sub-agent. */
export interface ChildAttempt {
  /** The session of the sub-agent, or of a sub-agent of it. */
  readonly session: SessionId;
  /** The name of the agent. */
  readonly agent: string;
  readonly turn: number;
  readonly attempt: number;
  readonly provider?: string;
  readonly model?: string;
}

/** Replaces the deltas of a finished turn, at the offset of the last delta. */
export interface Snapshot {
  readonly type: 'snapshot';
  /** The first and the last offset that the snapshot replaces. */
  readonly covers: readonly [number, number];
  /** All items of the turn that have content. Items that are not listed have no parts. */
  readonly items: readonly SettledItem[];
}

/** An item in a snapshot, with its parts. */
export interface SettledItem {
  readonly itemId: ItemId;
  readonly parts: readonly SettledPart[];
}

/** A part in a snapshot, with its id. */
export interface SettledPart {
  readonly partId: PartId;
  readonly part: Part;
}

/** A fact type of a later version. It is kept unchanged and folded to nothing. */
export interface UnknownFact {
  readonly type: 'unknown';
  readonly raw: JsonObject;
}
