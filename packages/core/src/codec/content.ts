import { type ItemId, isId, isPartId, type PartId, type ToolCallId } from '../ids.ts';
import type { Author, Item, ItemKind } from '../protocol/item.ts';
import type {
  FilePart,
  MediaPart,
  Part,
  ProviderState,
  ReasoningForm,
  Source,
  ToolCallPart,
} from '../protocol/part.ts';
import type { Stop, StopReason } from '../protocol/stop.ts';
import { withInput } from '../protocol/tool-call.ts';
import {
  boolean,
  bytes,
  count,
  type Decoder,
  json,
  jsonObject,
  list,
  literal,
  object,
  oneOf,
  optional,
  string,
  stringThat,
  variant,
  yes,
} from './decoder.ts';

export function id<T extends string>(): Decoder<T> {
  return stringThat<T>(isId, 'an id of 1 to 1024 printable characters');
}

export const partId: Decoder<PartId> = stringThat(isPartId, 'a part id, turn.attempt.name');
export const itemId: Decoder<ItemId> = id();
export const toolCallId: Decoder<ToolCallId> = id();

export const reasoningForm: Decoder<ReasoningForm> = oneOf('full', 'summary', 'redacted');

export const providerState: Decoder<ProviderState> = object<ProviderState>({
  provider: string,
  model: string,
  data: json,
});

const common = {
  partial: optional(yes),
  metadata: optional(jsonObject),
  providerState: optional(providerState),
};

const source: Decoder<Source> = variant<Source, 'type'>('type', {
  bytes: { bytes },
  blob: { hash: string, length: count },
  url: { url: string },
  provider_file: { provider: string, id: string },
});

const media: Decoder<MediaPart> = object<MediaPart>({
  kind: literal('media'),
  mimeType: string,
  source,
  ...common,
});

const file: Decoder<FilePart> = object<FilePart>({
  kind: literal('file'),
  name: string,
  mimeType: string,
  source,
  ...common,
});

const toolCall: Decoder<ToolCallPart> = object<ToolCallPart>({
  kind: literal('tool_call'),
  toolCallId,
  name: string,
  arguments: string,
  input: () => undefined,
  ...common,
});

const attachment: Decoder<MediaPart | FilePart> = variant<MediaPart | FilePart, 'kind'>('kind', {
  media,
  file,
});

export const part: Decoder<Part> = variant<Part, 'kind'>('kind', {
  text: { text: string, mimeType: optional(string), ...common },
  reasoning: { text: string, form: reasoningForm, signature: optional(string), ...common },
  tool_call: (value, limits) => withInput(toolCall(value, limits), limits),
  tool_result: {
    toolCallId,
    name: string,
    text: string,
    isError: boolean,
    value: optional(json),
    attachments: optional(list(attachment)),
    ...common,
  },
  structured: { value: json, name: optional(string), ...common },
  media,
  file,
  custom: { name: string, value: json, ...common },
});

const stopReason: Decoder<StopReason> = oneOf(
  'stop',
  'length',
  'tool_use',
  'content_filter',
  'refusal',
  'pause',
  'limit',
  'parked',
  'blocked',
  'aborted',
  'error',
  'unknown',
);

export const stop: Decoder<Stop> = object<Stop>({
  reason: stopReason,
  raw: optional(string),
  cause: optional(string),
});

export const itemKind: Decoder<ItemKind> = oneOf(
  'system',
  'developer',
  'user',
  'assistant',
  'tool',
  'context',
  'notification',
);

export const author: Decoder<Author> = object<Author>({ name: string, id: optional(string) });

export const item: Decoder<Item> = object<Item>({
  id: itemId,
  kind: itemKind,
  author: optional(author),
  parts: list(part),
  stop: optional(stop),
  redacted: optional(yes),
  metadata: optional(jsonObject),
});
