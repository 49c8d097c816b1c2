import type { BeginPart, CommitBuilt, CommitWhole, Delta } from '../protocol/delta.ts';
import { id, itemId, part, partId, providerState, reasoningForm, toolCallId } from './content.ts';
import {
  bytes,
  count,
  type Decoder,
  json,
  jsonObject,
  literal,
  object,
  optional,
  string,
  variant,
  variantWith,
  yes,
} from './decoder.ts';

const begun = { type: literal('begin_part'), partId, itemId };

const beginPart: Decoder<BeginPart> = variantWith<BeginPart, 'kind', keyof typeof begun>(
  begun,
  'kind',
  {
    text: { mimeType: optional(string) },
    reasoning: { form: reasoningForm },
    tool_call: { toolCallId, name: string },
    tool_result: { toolCallId, name: string, executionId: optional(id()) },
    structured: { name: optional(string) },
    media: { mimeType: string },
    file: { name: string, mimeType: string },
    custom: { name: string },
  },
);

const commitBuilt: Decoder<CommitBuilt> = object<Omit<CommitBuilt, 'part'>>({
  type: literal('commit_part'),
  partId,
  length: count,
  partial: optional(yes),
  signature: optional(string),
  providerState: optional(providerState),
});

const commitWhole: Decoder<CommitWhole> = object<CommitWhole>({
  type: literal('commit_part'),
  partId,
  itemId,
  part,
});

const isWhole = (value: unknown) =>
  typeof value === 'object' && value !== null && 'part' in value && value.part !== undefined;

export const delta: Decoder<Delta> = variant<Delta, 'type'>(
  'type',
  {
    begin_part: beginPart,
    append_text: { partId, at: count, chunk: string },
    append_bytes: { partId, at: count, chunk: bytes },
    replace_structured: { partId, value: json },
    set_metadata: { partId, metadata: jsonObject },
    commit_part: (value, limits) =>
      isWhole(value) ? commitWhole(value, limits) : commitBuilt(value, limits),
    retract_part: { partId, reason: string },
    unknown: (value, limits) => ({ type: 'unknown', raw: jsonObject(value, limits) }),
  },
  (value, limits) => ({ type: 'unknown', raw: jsonObject(value, limits) }),
);
