import { toBase64 } from '../codec/base64.ts';
import { decodeText } from '../codec/codec.ts';
import {
  id,
  item,
  itemId,
  part,
  partId,
  providerState,
  reasoningForm,
  stop,
  toolCallId,
} from '../codec/content.ts';
import {
  bytes,
  count,
  type Decoder,
  isObject,
  json,
  jsonObject,
  list,
  literal,
  nullable,
  object,
  offset,
  oneOf,
  optional,
  string,
  variant,
  variantWith,
  yes,
} from '../codec/decoder.ts';
import { wireItem, wirePart, wireSettledItem } from '../codec/encode.ts';
import { covers, fact, settledItem, unknownFact } from '../codec/fact.ts';
import type { ExecutionId, SessionId } from '../ids.ts';
import type { ContentLimits } from '../limits.ts';
import type { PartKind } from '../protocol/part.ts';
import type {
  AgentEvent,
  ContentEvent,
  EventHead,
  FactEvent,
  SettledEvent,
} from './agent-event.ts';

/** Encodes an event as one line of JSON. */
export function encodeEvent(event: AgentEvent): string {
  // The common fields come first, so that equal events always have equal text.
  const { session, offset, time, turn, attempt, type } = event;
  return JSON.stringify({ session, offset, time, turn, attempt, type, ...wireEvent(event) });
}

/**
 * Decodes an event from one line of JSON. Throws `DecodeError` with the path of the first wrong field.
 */
export function decodeEvent(text: string, limits: Partial<ContentLimits> = {}): AgentEvent {
  return decodeText('an event', text, event, limits);
}

function wireEvent(given: AgentEvent): object {
  switch (given.type) {
    case 'media_delta':
      return { ...given, bytes: toBase64(given.bytes) };
    case 'part_finished':
      return given.part === undefined ? given : { ...given, part: wirePart(given.part) };
    case 'turn_finished':
      return { ...given, message: given.message && wireItem(given.message) };
    case 'turn_settled':
      return { ...given, items: given.items.map(wireSettledItem) };
    default:
      return given;
  }
}

const kind: Decoder<PartKind> = oneOf(
  'text',
  'reasoning',
  'tool_call',
  'tool_result',
  'structured',
  'media',
  'file',
  'custom',
);

const ofPart = { partId, itemId };
const stretch = { ...ofPart, at: count };
const call = { toolCallId, name: string };

/** Decodes an event that is a fact under its own name, or an unknown event from a later version. */
const factEventDecoder: Decoder<FactEvent> = (value, limits) => {
  isObject(value);
  // No event has the type `snapshot`, because a snapshot becomes `turn_settled`. Such a value is
  // treated as an unknown fact, which can have any fields.
  if (value['type'] === 'snapshot') return unknownFact(value, limits);
  const decoded = fact(value, limits);
  switch (decoded.type) {
    case 'unknown':
    case 'snapshot':
    case 'turn_finished':
      return unknownFact(value, limits);
    default:
      return decoded;
  }
};

type Started = Extract<ContentEvent, { readonly type: 'part_started' }>;

const start = { type: literal('part_started'), ...ofPart };

const started: Decoder<Started> = variantWith<Started, 'kind', keyof typeof start>(start, 'kind', {
  text: { mimeType: optional(string) },
  reasoning: { form: reasoningForm },
  tool_result: { toolCallId, name: string, executionId: optional(id<ExecutionId>()) },
  structured: { name: optional(string) },
  media: { mimeType: string },
  file: { name: string, mimeType: string },
  custom: { name: string },
});

type TurnFinished = Extract<FactEvent, { readonly type: 'turn_finished' }>;
type Cases = ContentEvent | SettledEvent | TurnFinished;

const body: Decoder<Cases | FactEvent> = variant<Cases, 'type', FactEvent>(
  'type',
  {
    assistant_text_delta: { ...stretch, text: string },
    text_delta: { ...stretch, text: string },
    reasoning_delta: { ...stretch, text: string, form: reasoningForm },
    media_delta: { ...stretch, mimeType: string, bytes },
    structured_updated: { ...ofPart, value: json },
    custom_updated: { ...ofPart, name: string, value: json },
    tool_call_started: { ...ofPart, ...call },
    tool_call_arguments_delta: { ...stretch, toolCallId, delta: string },
    tool_call_ready: { ...ofPart, ...call, input: json },
    tool_execution_update: {
      ...stretch,
      toolCallId,
      executionId: optional(id<ExecutionId>()),
      text: string,
    },
    part_started: started,
    part_metadata_set: { ...ofPart, metadata: jsonObject },
    part_finished: {
      ...ofPart,
      kind,
      partial: optional(yes),
      signature: optional(string),
      providerState: optional(providerState),
      part: optional(part),
    },
    part_retracted: { ...ofPart, reason: string, toolCallId: optional(toolCallId) },
    turn_finished: { itemId: optional(itemId), stop, message: nullable(item) },
    turn_settled: { covers, items: list(settledItem) },
    unknown: { raw: jsonObject },
  },
  factEventDecoder,
);

const head: Decoder<EventHead> = object<EventHead>({
  session: id<SessionId>(),
  offset,
  time: count,
  turn: count,
  attempt: count,
});

const event: Decoder<AgentEvent> = (value, limits) => ({
  ...head(value, limits),
  ...body(value, limits),
});
