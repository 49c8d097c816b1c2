import type { ExecutionId, ItemId, PartId, SessionId, ToolCallId } from '../ids.ts';
import type { JsonValue } from '../json/json-value.ts';
import type { PartEnd, PartStart, RetractReason, UnknownDelta } from '../protocol/delta.ts';
import type { Fact, Snapshot } from '../protocol/fact.ts';
import type { Item } from '../protocol/item.ts';
import type { Metadata, Part, PartKind, ReasoningForm } from '../protocol/part.ts';

/**
 * What happened, in the words of the domain: the one stream for screens, logs, extensions and tests.
 * Content events come from deltas; all others are facts, told under their own names.
 */
export type AgentEvent = EventHead & (ContentEvent | FactEvent | SettledEvent);

/** Where every event comes from: the record's place in its session's log. */
export interface EventHead {
  readonly session: SessionId;
  readonly offset: number;
  readonly time: number;
  readonly turn: number;
  readonly attempt: number;
}

/** An event about a part names the part and its item. */
interface OfPart {
  readonly partId: PartId;
  readonly itemId: ItemId;
}

/** A stretch of a part: it goes to `at`, in UTF-16 units or bytes. */
interface Stretch extends OfPart {
  readonly at: number;
}

export type ContentEvent =
  | (Stretch & { readonly type: 'assistant_text_delta'; readonly text: string })
  /** Text of any other item that streams, for instance a notification. */
  | (Stretch & { readonly type: 'text_delta'; readonly text: string })
  | (Stretch & {
      readonly type: 'reasoning_delta';
      readonly text: string;
      readonly form: ReasoningForm;
    })
  | (Stretch & {
      readonly type: 'media_delta';
      readonly mimeType: string;
      readonly bytes: Uint8Array;
    })
  | (OfPart & { readonly type: 'structured_updated'; readonly value: JsonValue })
  | (OfPart & { readonly type: 'custom_updated'; readonly name: string; readonly value: JsonValue })
  | (OfPart & {
      readonly type: 'tool_call_started';
      readonly id: ToolCallId;
      readonly name: string;
    })
  | (Stretch & {
      readonly type: 'tool_call_arguments_delta';
      readonly id: ToolCallId;
      readonly delta: string;
    })
  /** The arguments are complete and are JSON. Whether they fit the tool is the loop's to say. */
  | (OfPart & {
      readonly type: 'tool_call_ready';
      readonly id: ToolCallId;
      readonly name: string;
      readonly input: JsonValue;
    })
  | (Stretch & {
      readonly type: 'tool_execution_update';
      readonly id: ToolCallId;
      readonly executionId?: ExecutionId;
      readonly text: string;
    })
  | (OfPart & { readonly type: 'part_started' } & AsTold<StartOfOthers>)
  | (OfPart & { readonly type: 'part_metadata_set'; readonly metadata: Metadata })
  /**
   * With what is known only at the end. `part` is there where it came whole or replaces what was told;
   * else what was told is the part.
   */
  | (OfPart &
      PartEnd & {
        readonly type: 'part_finished';
        readonly kind: PartKind;
        readonly part?: Part;
      })
  /** Forget it. `id` where it was a tool call or a tool's result. */
  | (OfPart & {
      readonly type: 'part_retracted';
      readonly reason: RetractReason;
      readonly id?: ToolCallId;
    })
  | UnknownDelta;

/** What is known of a part at its start; a tool call has an event of its own for it. */
type StartOfOthers = Exclude<PartStart, { readonly kind: 'tool_call' }>;

/** `id` is the tool call's id, as in every tool event. */
type AsTold<F> = F extends { readonly toolCallId: ToolCallId }
  ? Omit<F, 'toolCallId'> & { readonly id: ToolCallId }
  : F;

/** A fact that needs nothing from the state to be told. */
export type OrdinaryFact = Exclude<Fact, Snapshot | { readonly type: 'turn_finished' }>;

export type FactEvent =
  | AsTold<OrdinaryFact>
  | (Extract<Fact, { readonly type: 'turn_finished' }> & {
      /** What the assistant said in it, with its stop reason. */
      readonly message: Item | null;
    });

/** The turn's content in one piece, instead of all its content events: forget those you had. */
export interface SettledEvent {
  readonly type: 'turn_settled';
  readonly covers: Snapshot['covers'];
  readonly items: Snapshot['items'];
}
