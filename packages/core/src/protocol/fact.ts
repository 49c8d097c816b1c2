import type { FormQuestion } from '../forms/form.ts';
import type { ExecutionId, ItemId, PartId, RunId, SessionId, ToolCallId } from '../ids.ts';
import type { JsonObject, JsonValue } from '../json/json-value.ts';
import type { TraceContext } from '../trace/trace-context.ts';
import type { Author, ItemKind } from './item.ts';
import type { Metadata, Part } from './part.ts';
import type { ResponseDetails } from './response-details.ts';
import type { ErrorInfo, Stop } from './stop.ts';
import type { Usage } from './usage.ts';

/**
 * An event in a session. A fact contains ids but no content of parts, so it stays on the log when the deltas
 * around it are settled. The record of the fact contains its turn and attempt.
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
      /**
       * The names of the tools that the request offered. Absent if it offered all tools of the
       * agent.
       */
      readonly tools?: readonly string[];
      /** The version of the agent that sent the request. Absent if the agent has no version. */
      readonly version?: string;
    }
  /**
   * The provider ended the response. This fact finishes the item. The log commits it together with the last
   * parts of the item.
   */
  | {
      readonly type: 'response_finished';
      readonly itemId: ItemId;
      readonly stop: Stop;
      readonly usage: Usage;
      /** Other data that the provider reported. Absent if there was none. */
      readonly details?: ResponseDetails;
    }
  /** The usage of the attempt until now. A later report for the same attempt replaces this report. */
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
       * The trace that the run belongs to. In every process, the spans of the run are children of
       * this trace.
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
      /**
       * The reason why the command had no effect, for example an unknown type. Absent if it had an
       * effect.
       */
      readonly error?: ErrorInfo;
    }
  | {
      readonly type: 'compacted';
      /** The items that the summary replaces in later requests to a model. */
      readonly itemIds: readonly ItemId[];
      readonly summary?: string;
      /**
       * Items that were too long for the model's context. Later requests contain a shortened form of each
       * item, with at most `maxLength` UTF-16 units.
       */
      readonly clipped?: readonly { readonly itemId: ItemId; readonly maxLength: number }[];
    }
  | { readonly type: 'handed_off'; readonly to: string; readonly reason?: string }
  | BranchFact;

/** The session is a branch: it continues another session with a change. */
export interface BranchFact {
  readonly type: 'branched';
  /** The session that this session continues, and the record that the user or program chose. */
  readonly from: { readonly session: SessionId; readonly at: number };
  /** The names of the changes: `input`, `result`, `rerun`, `model`, `instructions`. */
  readonly changed: readonly string[];
  /** The calls to which the branch gives a different result, without executing the calls. */
  readonly results?: readonly ToolCallId[];
  /** The calls that run again. */
  readonly rerun?: readonly ToolCallId[];
  /** The name of the model that answers in this session from now on. */
  readonly model?: string;
  /** The instructions that replace the instructions of the agent in this session from now on. */
  readonly instructions?: string;
}

/** The reason why a tool call was rejected without running. */
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
      /**
       * The rule of the call. A standing approval of this call also applies to later calls with the same rule.
       * Without a rule, an approval applies only to this call.
       */
      readonly rule?: string;
      /**
       * The thing that the user decides about, for example the real path of a file. An answer applies
       * only to this thing.
       */
      readonly judged?: string;
      /**
       * The sub-agent, the guardrail or the running tool that asks. `toolCallId` and `name` then identify the
       * question, and this session has no call with that id.
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
      /** The input that replaces the input of the call, if the answer changed it. */
      readonly input?: JsonValue;
      /**
       * The state that the user saw, for example a hash of the content of a file. The call runs only in this
       * state.
       */
      readonly basis?: string;
      /**
       * If present, the answer also covers later calls under the same rule, until this time or
       * until the session ends.
       */
      readonly until?: number | 'session';
      /** The session of the sub-agent, if the user answered in that session instead of this one. */
      readonly answeredIn?: SessionId;
    }
  /** The call waits for a client that runs the tool and sends its output. */
  | {
      readonly type: 'tool_output_asked';
      readonly toolCallId: ToolCallId;
      readonly name: string;
      /** The input that the client uses, if the user or a guardrail changed the model's input. */
      readonly input?: JsonValue;
    }
  | {
      readonly type: 'tool_execution_started';
      readonly toolCallId: ToolCallId;
      readonly name: string;
      readonly executionId: ExecutionId;
      /** One line that describes the execution for people. */
      readonly summary: string;
      /**
       * The session of the sub-agent that this execution runs. If this execution was parked or
       * lost, a later execution of the same call continues that session.
       */
      readonly child?: SessionId;
      /**
       * The session that started the sub-agent. In the session of the record itself, it is that session. In a
       * copy of the record, it is the session of the original, and `child` does not belong to the copy.
       * Present if `child` is present.
       */
      readonly parent?: SessionId;
    }
  | {
      readonly type: 'tool_execution_finished';
      readonly toolCallId: ToolCallId;
      readonly name: string;
      readonly executionId: ExecutionId;
      readonly isError: boolean;
      /**
       * `discarded`: the attempt was superseded. `lost`: the process died. `parked`: the sub-agent
       * waits for an answer. Only a `completed` execution has a result.
       */
      readonly outcome: 'completed' | 'discarded' | 'lost' | 'parked';
    }
  /**
   * The execution is about to change a file, or a command that it ran has changed a file. With the stored
   * contents, a program can undo the change later.
   */
  | {
      readonly type: 'file_changed';
      readonly toolCallId: ToolCallId;
      readonly name: string;
      readonly executionId: ExecutionId;
      /** The absolute path, without symbolic links. */
      readonly path: string;
      /** Absent if the file did not exist. */
      readonly before?: FileVersion;
      /** Absent if the file is deleted. */
      readonly after?: FileVersion;
      /**
       * Present if the record is about `path` and all files below it. A command runs there whose changes are
       * not known in advance. `pending`: the command can change files from now on. `recorded`: the log has
       * all changes since `pending`. Without `recorded`, the changes are unknown.
       */
      readonly scope?: 'pending' | 'recorded';
    }
  /**
   * The usage of one attempt of a sub-agent. The totals of this session include it. A later report for the
   * same attempt replaces an earlier report.
   */
  | {
      readonly type: 'child_usage_reported';
      /** The call that runs the sub-agent. */
      readonly toolCallId: ToolCallId;
      readonly name: string;
      readonly of: ChildAttempt;
      readonly usage: Usage;
    };

/** The content of a file at one time. */
export interface FileVersion {
  /** SHA-256 of the content, as hexadecimal digits. */
  readonly hash: string;
  /** Number of bytes. */
  readonly length: number;
  /** The permission bits, for example 0o644. */
  readonly mode: number;
  /** True if a blob with this hash holds the content. Large files and secrets are not stored. */
  readonly isStored: boolean;
}

/** The kind of content that a guardrail checks. */
export type GuardrailPlace = 'input' | 'output' | 'tool_call';

/**
 * The decision of a guardrail. `error` means that the guardrail failed, and the run ends with an
 * error.
 */
export type GuardrailVerdict = 'pass' | 'stop' | 'change' | 'ask' | 'error';

/** The verdict of a guardrail. If a verdict is on the log, the same check does not run again. */
export interface GuardrailFact {
  readonly type: 'guardrail_applied';
  /** The name of the guardrail. */
  readonly name: string;
  readonly on: GuardrailPlace;
  readonly verdict: GuardrailVerdict;
  readonly reason?: string;
  /** The item that was checked: an input, or the answer after a change by the guardrail. */
  readonly itemId?: ItemId;
  /** The call that was checked. */
  readonly toolCallId?: ToolCallId;
  /**
   * The item that requests contain instead of the original input. Present only if the guardrail changed the
   * input.
   */
  readonly replacedBy?: ItemId;
  /** The input that replaces the input of the call, if the guardrail changed it. */
  readonly input?: JsonValue;
}

/**
 * Identifies the sub-agent, the guardrail or the tool that asks a question. If a guardrail asks about an item,
 * `toolCallId` is the id of the question itself.
 */
export interface AskingAgent {
  /** The call of this session that runs the sub-agent. */
  readonly toolCallId: ToolCallId;
  /** The names of the agents, from the sub-agent of this session to the agent that asks. */
  readonly agents: readonly string[];
  /** The session of the agent that asks. */
  readonly session: SessionId;
  /** The input of the call in question, as the model wrote it or as a guardrail changed it. */
  readonly input: JsonValue;
  /** The item that a guardrail asks about. */
  readonly itemId?: ItemId;
  /**
   * The form that a tool shows to the user while it runs. An answer that allows has the content of the form
   * as `input`. `agents` then ends with the name of the tool.
   */
  readonly form?: FormQuestion;
}

/** One attempt at a model request, in the session of a sub-agent. */
export interface ChildAttempt {
  /** The session of a sub-agent at any depth. */
  readonly session: SessionId;
  /** The name of the agent. */
  readonly agent: string;
  readonly turn: number;
  readonly attempt: number;
  readonly provider?: string;
  readonly model?: string;
  /** The version of the agent. */
  readonly version?: string;
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

/** A fact of an unknown type, from a later version. The log stores it unchanged, and the fold ignores it. */
export interface UnknownFact {
  readonly type: 'unknown';
  readonly raw: JsonObject;
}
