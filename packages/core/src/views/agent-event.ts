import type { ExecutionId, ItemId, PartId, SessionId, ToolCallId } from '../ids.ts';
import type { JsonValue } from '../json/json-value.ts';
import type { PartEnd, PartStart, RetractReason, UnknownDelta } from '../protocol/delta.ts';
import type { Fact, Snapshot } from '../protocol/fact.ts';
import type { Item } from '../protocol/item.ts';
import type { Metadata, Part, PartKind, ReasoningForm } from '../protocol/part.ts';

/**
 * One event of a session, for user interfaces, logs, extensions and tests. Content events are
 * derived from deltas. All other events are facts under their own names.
 */
export type AgentEvent = EventHead & (ContentEvent | FactEvent | SettledEvent);

/** The session of an event and the position of its record in the log. */
export interface EventHead {
  readonly session: SessionId;
  readonly offset: number;
  readonly time: number;
  readonly turn: number;
  readonly attempt: number;
}

/** The ids of the part that an event is about, and of its item. */
interface OfPart {
  readonly partId: PartId;
  readonly itemId: ItemId;
}

/** The position of appended content in its part, in UTF-16 units or bytes. */
interface AppendedRange extends OfPart {
  readonly at: number;
}

/** An event about the content of a part. */
export type ContentEvent =
  | (AppendedRange & { readonly type: 'assistant_text_delta'; readonly text: string })
  /** Text that streams into an item that is not an assistant item, for example a notification. */
  | (AppendedRange & { readonly type: 'text_delta'; readonly text: string })
  | (AppendedRange & {
      readonly type: 'reasoning_delta';
      readonly text: string;
      readonly form: ReasoningForm;
    })
  | (AppendedRange & {
      readonly type: 'media_delta';
      readonly mimeType: string;
      readonly bytes: Uint8Array;
    })
  | (OfPart & { readonly type: 'structured_updated'; readonly value: JsonValue })
  | (OfPart & { readonly type: 'custom_updated'; readonly name: string; readonly value: JsonValue })
  | (OfPart & {
      readonly type: 'tool_call_started';
      readonly toolCallId: ToolCallId;
      readonly name: string;
    })
  | (AppendedRange & {
      readonly type: 'tool_call_arguments_delta';
      readonly toolCallId: ToolCallId;
      readonly delta: string;
    })
  /**
   * The arguments are complete and are valid JSON. The agent loop checks later whether they fit the
   * tool.
   */
  | (OfPart & {
      readonly type: 'tool_call_ready';
      readonly toolCallId: ToolCallId;
      readonly name: string;
      readonly input: JsonValue;
    })
  | (AppendedRange & {
      readonly type: 'tool_execution_update';
      readonly toolCallId: ToolCallId;
      readonly executionId?: ExecutionId;
      readonly text: string;
    })
  | (OfPart & { readonly type: 'part_started' } & StartOfOthers)
  | (OfPart & { readonly type: 'part_metadata_set'; readonly metadata: Metadata })
  /**
   * A part ended. The event has the fields that are known only at the end. `part` is present if the part
   * arrived whole or replaces earlier content. If `part` is absent, the earlier events contain the whole
   * content.
   */
  | (OfPart &
      PartEnd & {
        readonly type: 'part_finished';
        readonly kind: PartKind;
        readonly part?: Part;
      })
  /**
   * The part was retracted, so a reader must remove it. `toolCallId` is present for a tool call or
   * a tool result.
   */
  | (OfPart & {
      readonly type: 'part_retracted';
      readonly reason: RetractReason;
      readonly toolCallId?: ToolCallId;
    })
  | UnknownDelta;

/** The fields of a part at its start. Tool calls are excluded, because they have their own event. */
type StartOfOthers = Exclude<PartStart, { readonly kind: 'tool_call' }>;

/** A fact that becomes an event without further fields. */
type OrdinaryFact = Exclude<Fact, Snapshot | { readonly type: 'turn_finished' }>;

/** A fact as an event. */
export type FactEvent =
  | OrdinaryFact
  | (Extract<Fact, { readonly type: 'turn_finished' }> & {
      /** The assistant's item of this turn, with its stop reason. */
      readonly message: Item | null;
    });

/** The whole content of a turn. It replaces all earlier content events of the turn. */
export interface SettledEvent {
  readonly type: 'turn_settled';
  readonly covers: Snapshot['covers'];
  readonly items: Snapshot['items'];
}
