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
import { keepPart } from './preserved-part.ts';

export type SdkResponse = StreamEventResponseCompleted['response'];

/** A whole answer, as the SDK has it. */
export function toResponse(
  parts: readonly NamedPart[],
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

/** A part and the id that the SDK's item has, by which its deltas are found again. */
export interface NamedPart {
  readonly id: string;
  readonly part: Part;
}

/** What a model said as the SDK's output: an item for each part. */
export function toOutputItems(parts: readonly NamedPart[], stop?: Stop): AgentOutputItem[] {
  const items = parts.flatMap(({ id, part }) => toOutputItem(id, part, stop) ?? []);
  if (stop === undefined || !isEmptyAnswer(items, stop)) return items;
  const id = `${parts[0]?.id ?? 'answer'}.end`;
  const isRefusal = stop.reason === 'refusal';
  return [...items, message(id, isRefusal ? refused : { type: 'output_text', text: '' })];
}

const refused: AssistantContent = {
  type: 'refusal',
  refusal: 'The model refused to answer, and did not say why',
};

/** Without a message the SDK would ask again, and again: an answer of no words is an answer too. */
function isEmptyAnswer(items: readonly AgentOutputItem[], { reason }: Stop): boolean {
  if (reason === 'pause' || reason === 'tool_use') return false;
  return items.every(({ type }) => type === 'reasoning');
}

function toOutputItem(id: string, part: Part, stop: Stop | undefined): AgentOutputItem | undefined {
  switch (part.kind) {
    case 'text':
      if (part.text === '' && part.providerState === undefined) return undefined;
      return message(id, words(part, stop), part.partial || stop?.reason === 'length');
    case 'structured':
      return message(id, {
        ...{ type: 'output_text', text: JSON.stringify(part.value) },
        ...keepPart(part),
      });
    case 'reasoning':
      return { type: 'reasoning', id, ...thought(part), ...keepPart(part) };
    case 'tool_call':
      return {
        ...{ type: 'function_call', id, callId: part.toolCallId, name: part.name },
        ...{ arguments: part.arguments, status: 'completed', ...keepPart(part) },
      };
    case 'media':
      return picture(id, part);
    case 'custom':
      // Only its maker can read it, as with reasoning, and the SDK hands such items on as they are.
      return { type: 'reasoning', id, content: [], ...keepPart(part) };
    case 'tool_result':
    case 'file':
      return undefined;
  }
}

function words(part: Part & { kind: 'text' }, stop: Stop | undefined): AssistantContent {
  const isRefusal = stop?.reason === 'refusal' || part.metadata?.['refusal'] === true;
  if (isRefusal) return { type: 'refusal', refusal: part.text, ...keepPart(part) };
  return { type: 'output_text', text: part.text, ...keepPart(part) };
}

function thought({ form, text }: Part & { kind: 'reasoning' }) {
  if (form === 'summary') return { content: [{ type: 'input_text' as const, text }] };
  if (form === 'redacted') return { content: [] };
  return { content: [], rawContent: [{ type: 'reasoning_text' as const, text }] };
}

function picture(id: string, part: Part & { kind: 'media' }): AgentOutputItem | undefined {
  const image = addressOf(part);
  if (image === undefined) return undefined;
  return message(id, { type: 'image', image, ...keepPart(part) });
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

/** Where its bytes are, as the SDK writes it; undefined for what is kept beside a log. */
export function addressOf({ source, mimeType }: MediaPart | FilePart): string | undefined {
  switch (source.type) {
    case 'bytes':
      return `data:${mimeType};base64,${toBase64(source.bytes)}`;
    case 'url':
      return source.url;
    case 'blob':
      return undefined;
  }
}
