import {
  type FilePart,
  type JsonObject,
  type MediaPart,
  type Usage as MillraceUsage,
  type Part,
  type Stop,
  toBase64,
} from '@millrace/core';
import type { ResponseEnd } from '@millrace/providers';
import type { AgentOutputItem, protocol, StreamEventResponseCompleted } from '@openai/agents';
import { preservePart } from './preserved-part.ts';

/** A complete response of the SDK. */
export type SdkResponse = StreamEventResponseCompleted['response'];

/** Converts a complete answer to a response of the SDK. */
export function toResponse(
  parts: readonly IdentifiedPart[],
  { stop, usage, responseId, model }: ResponseEnd,
  fallbackId: string,
): SdkResponse {
  return {
    id: responseId ?? fallbackId,
    output: toOutputItems(parts, stop) as SdkResponse['output'],
    usage: toUsage(usage),
    rawUsage: { ...usage },
    providerData: { stop: { ...stop } as JsonObject, ...(model !== undefined && { model }) },
  };
}

function toUsage({ input, output, cacheRead, cacheWrite, reasoning }: MillraceUsage) {
  return {
    requests: 1,
    inputTokens: input,
    outputTokens: output,
    totalTokens: input + output,
    inputTokensDetails: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite },
    outputTokensDetails: { reasoning_tokens: reasoning },
  };
}

/** A part with the id of its SDK item. The events of the part's deltas have the same id. */
export interface IdentifiedPart {
  readonly id: string;
  readonly part: Part;
}

/** Converts the parts of an answer to output items of the SDK, one item per part. */
export function toOutputItems(parts: readonly IdentifiedPart[], stop?: Stop): AgentOutputItem[] {
  const items = parts.flatMap(({ id, part }) => toOutputItem(id, part, stop) ?? []);
  if (stop === undefined || !isEmptyAnswer(items, stop)) return items;
  const id = `${parts[0]?.id ?? 'answer'}.end`;
  const isRefusal = stop.reason === 'refusal';
  return [...items, message(id, isRefusal ? defaultRefusal : { type: 'output_text', text: '' })];
}

const defaultRefusal: AssistantContent = {
  type: 'refusal',
  refusal: 'The model refused to answer without a reason',
};

/**
 * True if an empty message has to be added. A model may give an empty answer. Without a message, the SDK
 * would then repeat the request forever.
 */
function isEmptyAnswer(items: readonly AgentOutputItem[], { reason }: Stop): boolean {
  if (reason === 'pause' || reason === 'tool_use') return false;
  return items.every(({ type }) => type === 'reasoning');
}

function toOutputItem(id: string, part: Part, stop: Stop | undefined): AgentOutputItem | undefined {
  switch (part.kind) {
    case 'text':
      if (part.text === '' && part.providerState === undefined) return undefined;
      return message(id, textContent(part, stop), part.partial || stop?.reason === 'length');
    case 'structured':
      return message(id, {
        ...{ type: 'output_text', text: JSON.stringify(part.value) },
        ...preservePart(part),
      });
    case 'reasoning':
      return { type: 'reasoning', id, ...reasoningContent(part), ...preservePart(part) };
    case 'tool_call':
      return {
        ...{ type: 'function_call', id, callId: part.toolCallId, name: part.name },
        ...{ arguments: part.arguments, status: 'completed', ...preservePart(part) },
      };
    case 'media':
      return imageMessage(id, part);
    case 'custom':
      // Only the vendor of the model can read a custom part. It becomes a reasoning item, because the SDK
      // keeps reasoning items unchanged.
      return { type: 'reasoning', id, content: [], ...preservePart(part) };
    case 'tool_result':
    case 'file':
      return undefined;
  }
}

function textContent(part: Part & { kind: 'text' }, stop: Stop | undefined): AssistantContent {
  const isRefusal = stop?.reason === 'refusal' || part.metadata?.['refusal'] === true;
  if (isRefusal) return { type: 'refusal', refusal: part.text, ...preservePart(part) };
  return { type: 'output_text', text: part.text, ...preservePart(part) };
}

function reasoningContent({ form, text }: Part & { kind: 'reasoning' }) {
  if (form === 'summary') return { content: [{ type: 'input_text' as const, text }] };
  if (form === 'redacted') return { content: [] };
  return { content: [], rawContent: [{ type: 'reasoning_text' as const, text }] };
}

function imageMessage(id: string, part: Part & { kind: 'media' }): AgentOutputItem | undefined {
  const image = toUrl(part);
  if (image === undefined) return undefined;
  return message(id, { type: 'image', image, ...preservePart(part) });
}

type AssistantContent = protocol.AssistantMessageItem['content'][number];

function message(
  id: string,
  content: AssistantContent,
  isCut = false,
): protocol.AssistantMessageItem {
  const status = isCut ? 'incomplete' : 'completed';
  return { type: 'message', role: 'assistant', id, status, content: [content] };
}

/** Returns the URL of an attachment for the SDK. Undefined for a blob and for a file of a provider. */
export function toUrl({ source, mimeType }: MediaPart | FilePart): string | undefined {
  switch (source.type) {
    case 'bytes':
      return `data:${mimeType};base64,${toBase64(source.bytes)}`;
    case 'url':
      return source.url;
    case 'blob':
    case 'provider_file':
      return undefined;
  }
}
