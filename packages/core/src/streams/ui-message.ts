import type { JsonValue } from '../json/json-value.ts';
import { PartialJson } from '../json/partial-json.ts';
import { encodeWithoutBlockedKeys, type UiChunk } from './ui-chunk.ts';

/** A message in the AI SDK's format. It is assignable to `UIMessage` of the package `ai`. */
export interface UiMessage {
  /** The id of the user's item, or the message id in the stream of the answer. */
  readonly id: string;
  readonly role: 'user' | 'assistant';
  /** The data that the page sent with the user's message. Default: none. */
  readonly metadata?: JsonValue;
  readonly parts: UiPart[];
}

/** A part of a message in the AI SDK's format. */
export type UiPart =
  | { readonly type: 'step-start' }
  | { readonly type: 'text'; readonly text: string; readonly state?: 'streaming' | 'done' }
  | {
      readonly type: 'reasoning';
      readonly id: string;
      readonly text: string;
      readonly state: 'streaming' | 'done';
    }
  | {
      readonly type: 'file';
      readonly mediaType: string;
      readonly url: string;
      readonly filename?: string;
    }
  | { readonly type: `data-${string}`; readonly id?: string; readonly data: JsonValue }
  | {
      readonly type: 'steering-message';
      readonly id: string;
      readonly parts: { readonly type: 'text'; readonly text: string }[];
    }
  | UiToolPart;

/** A tool call in the AI SDK's format, with its state, its approval and its result. */
export type UiToolPart = {
  readonly type: `tool-${string}`;
  readonly toolCallId: string;
} & (
  | { readonly state: 'input-streaming'; readonly input: JsonValue | undefined }
  | { readonly state: 'input-available'; readonly input: JsonValue }
  | {
      readonly state: 'approval-requested';
      readonly input: JsonValue;
      readonly approval: { readonly id: string; readonly requestReason?: string };
    }
  | {
      readonly state: 'approval-responded';
      readonly input: JsonValue;
      readonly approval: UiApproval<boolean>;
    }
  | {
      readonly state: 'output-available';
      readonly input: JsonValue;
      readonly output: JsonValue;
      readonly approval?: UiApproval<true>;
    }
  | {
      readonly state: 'output-error';
      readonly input: JsonValue;
      readonly errorText: string;
      readonly approval?: UiApproval<true>;
    }
  | {
      readonly state: 'output-denied';
      readonly input: JsonValue;
      readonly approval: UiApproval<false>;
    }
);

/** The answer to a question about a call. */
export interface UiApproval<Approved extends boolean = boolean> {
  /** The id of the call. */
  readonly id: string;
  readonly approved: Approved;
  /** The reason why the agent asked. */
  readonly requestReason?: string;
  /** The reason that the user gave for the answer. */
  readonly reason?: string;
}

/** A part while it is built. Its fields are the fields of the chunks. */
type Draft = { readonly type: string } & { readonly [Field in string]: JsonValue | undefined };

/**
 * Builds the parts of a message from its restated chunks, as the AI SDK's client does. The chunks of
 * `recordChunks` are not supported, because they can also remove parts.
 */
export function partsOfChunks(
  chunks: readonly UiChunk[],
  answers: ReadonlyMap<string, UiApproval> = new Map(),
): UiPart[] {
  const drafts: Draft[] = [];
  for (const chunk of chunks) {
    const at = changedIndex(drafts, chunk);
    const before = drafts[at];
    const draft = draftOf(chunk, before);
    if (draft === undefined) continue;
    if (before === undefined) drafts.push(draft);
    else drafts[at] = draft;
  }
  return drafts.map((draft) => finish(withAnswer(draft, answers)));
}

/**
 * Returns the index of the draft that a chunk changes, or an index without a draft if the chunk starts a
 * part.
 */
function changedIndex(drafts: readonly Draft[], chunk: UiChunk): number {
  if ('toolCallId' in chunk) {
    const at = drafts.findLastIndex(({ toolCallId }) => toolCallId === chunk.toolCallId);
    // An input belongs to the current step, because a step can repeat a call of an earlier step. A result can
    // belong to any step.
    const isInput = chunk.type.startsWith('tool-input-');
    return isInput && at < drafts.findLastIndex(({ type }) => type === 'step-start') ? -1 : at;
  }
  return /^(?:text|reasoning)-(?:delta|end)$/.test(chunk.type) ? drafts.length - 1 : -1;
}

/** Returns the draft after a chunk. Undefined if the chunk belongs to no part. */
function draftOf(chunk: UiChunk, before: Draft | undefined): Draft | undefined {
  switch (chunk.type) {
    case 'start-step':
      return { type: 'step-start' };
    case 'text-start':
      return { type: 'text', text: '', state: 'streaming' };
    case 'reasoning-start':
      return { type: 'reasoning', id: chunk.id, text: '', state: 'streaming' };
    case 'text-delta':
    case 'reasoning-delta':
      return before && { ...before, text: `${before['text']}${chunk.delta}` };
    case 'text-end':
    case 'reasoning-end':
      return before && { ...before, state: 'done' };
    case 'file': {
      const { type, mediaType, url } = chunk;
      return { type, mediaType, url };
    }
    case 'steering-message': {
      const { type, id, parts } = chunk;
      return { type, id, parts: parts.map((part) => ({ ...part })) };
    }
    default:
      if ('toolCallId' in chunk) return toolDraft(chunk, before);
      if (!('data' in chunk)) return undefined;
      return { type: chunk.type, id: chunk.id, data: chunk.data };
  }
}

type ToolChunk = Extract<UiChunk, { readonly toolCallId: string }>;

function toolDraft(chunk: ToolChunk, before: Draft | undefined): Draft | undefined {
  const { toolCallId } = chunk;
  const type = 'toolName' in chunk ? `tool-${chunk.toolName}` : (before?.type ?? '');
  const call = { type, toolCallId, approval: before?.['approval'] };
  const input = before?.['input'];
  switch (chunk.type) {
    case 'tool-input-start':
      return { ...call, state: 'input-streaming' };
    case 'tool-input-delta': {
      const rawInput = `${before?.['rawInput'] ?? ''}${chunk.inputTextDelta}`;
      return { ...call, state: 'input-streaming', input: liveValue(rawInput), rawInput };
    }
    case 'tool-input-available':
      return { ...call, state: 'input-available', input: chunk.input };
    case 'tool-input-error':
      return { ...call, state: 'output-error', input: chunk.input, errorText: chunk.errorText };
    case 'tool-output-available':
      return before && { ...call, state: 'output-available', input, output: chunk.output };
    case 'tool-output-error':
      return before && { ...call, state: 'output-error', input, errorText: chunk.errorText };
    case 'tool-output-denied':
      return before && { ...call, state: 'output-denied', input };
    case 'tool-approval-request': {
      const why = chunk.reason === undefined ? {} : { requestReason: chunk.reason };
      const approval = { id: chunk.approvalId, ...why };
      return before && { ...before, state: 'approval-requested', approval };
    }
  }
}

function liveValue(text: string): JsonValue | undefined {
  const json = new PartialJson();
  json.feed(text);
  return json.value;
}

/**
 * Adds the answer to an earlier question. For a denied call, the log has an error as its result, and the AI
 * SDK has a separate state.
 */
function withAnswer(draft: Draft, answers: ReadonlyMap<string, UiApproval>): Draft {
  const { toolCallId, approval, state } = draft;
  const answer = typeof toolCallId === 'string' ? answers.get(toolCallId) : undefined;
  if (answer === undefined || approval !== undefined) return draft;
  const answered: Draft = { ...draft, approval: { ...answer } };
  if (state === 'input-available') return { ...answered, state: 'approval-responded' };
  if (answer.approved) return answered;
  if (state !== 'output-error') return draft;
  return { ...answered, state: 'output-denied', errorText: undefined };
}

/** Returns the part as a client reads it from JSON: without undefined fields and without blocked keys. */
function finish(draft: Draft): UiPart {
  return JSON.parse(encodeWithoutBlockedKeys(draft)) as UiPart;
}
