import type { ExecutionId, ItemId, PartId, RunId, SessionId, ToolCallId } from '../ids.ts';
import type { JsonObject, JsonValue } from '../json/json-value.ts';
import type { TraceContext } from '../trace/trace-context.ts';
import type { Author, ItemKind } from './item.ts';
import type { Metadata, Part } from './part.ts';
import type { ErrorInfo, Stop } from './stop.ts';
import type { Usage } from './usage.ts';

/**
 * Something that happened. A fact names what it speaks of and holds no content of parts, so that it
 * can stay when the deltas around it are settled. Its turn and attempt are those of its record.
 */
export type Fact = ItemFact | ResponseFact | RunFact | ToolFact | Snapshot | UnknownFact;

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

/** One attempt at a model request. */
export type ResponseFact =
  | {
      readonly type: 'response_started';
      readonly itemId: ItemId;
      readonly provider: string;
      readonly model: string;
    }
  /** The provider's own end came. Finishes the item; committed together with its last parts. */
  | {
      readonly type: 'response_finished';
      readonly itemId: ItemId;
      readonly stop: Stop;
      readonly usage: Usage;
    }
  /** What the attempt has used so far; the last word on an attempt counts. */
  | { readonly type: 'usage_reported'; readonly usage: Usage }
  /** Retracts every part and item of the record's attempt. */
  | { readonly type: 'attempt_superseded'; readonly reason: string }
  | { readonly type: 'retry_scheduled'; readonly error: ErrorInfo; readonly delayMs: number };

export type RunFact =
  | {
      readonly type: 'run_started';
      readonly runId: RunId;
      /** What the run is part of: its spans are under this, in whichever process they are made. */
      readonly trace?: TraceContext;
    }
  | { readonly type: 'run_finished'; readonly runId: RunId; readonly stop: Stop }
  | { readonly type: 'turn_started' }
  | { readonly type: 'turn_finished'; readonly itemId?: ItemId; readonly stop: Stop }
  | { readonly type: 'aborted'; readonly reason?: string }
  | { readonly type: 'error_reported'; readonly error: ErrorInfo }
  | { readonly type: 'command_queued'; readonly key: string; readonly command: JsonObject }
  | { readonly type: 'command_consumed'; readonly key: string }
  | {
      readonly type: 'compacted';
      /** What the summary stands for from now on, in what a model is sent. */
      readonly itemIds: readonly ItemId[];
      readonly summary?: string;
    }
  | { readonly type: 'handed_off'; readonly to: string; readonly reason?: string };

export type RejectionCode = 'invalid' | 'unknown' | 'denied' | 'aborted' | 'cut';

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
      /** What an answer that lasts would be about, besides this call. */
      readonly rule?: string;
    }
  | {
      readonly type: 'approval_answered';
      readonly toolCallId: ToolCallId;
      readonly name: string;
      readonly decision: 'allow' | 'deny';
      readonly reason?: string;
      readonly by?: string;
      /** What the call runs with instead, where the answer changed it. */
      readonly input?: JsonValue;
      /** For calls that are asked about by the same rule too: until this time, or to the session's end. */
      readonly until?: number | 'session';
    }
  | {
      readonly type: 'tool_execution_started';
      readonly toolCallId: ToolCallId;
      readonly name: string;
      readonly executionId: ExecutionId;
      /** One line for people. */
      readonly summary: string;
      /** The session of the sub-agent that it is. */
      readonly child?: SessionId;
    }
  | {
      readonly type: 'tool_execution_finished';
      readonly toolCallId: ToolCallId;
      readonly name: string;
      readonly executionId: ExecutionId;
      readonly isError: boolean;
      /** `discarded` with its attempt, or `lost` with its process: its result does not count. */
      readonly outcome: 'completed' | 'discarded' | 'lost';
    };

/** Stands for the deltas of a finished turn, at the offset of the last of them. */
export interface Snapshot {
  readonly type: 'snapshot';
  /** The first and the last offset that it stands for. */
  readonly covers: readonly [number, number];
  /** All that is in the turn's items; those that are not named have nothing in them. */
  readonly items: readonly SettledItem[];
}

export interface SettledItem {
  readonly itemId: ItemId;
  readonly parts: readonly SettledPart[];
}

export interface SettledPart {
  readonly partId: PartId;
  readonly part: Part;
}

/** A type that a later writer knows: kept as it came, folded to nothing. */
export interface UnknownFact {
  readonly type: 'unknown';
  readonly raw: JsonObject;
}
