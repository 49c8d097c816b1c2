import { type JsonObject, type Part, parseJson, toolCallId } from '@millrace/core';
import type { protocol } from '@openai/agents';
import { keptPart } from '../response/kept-part.ts';
import { sourceOf } from './source-of.ts';

type Said = protocol.AssistantMessageItem['content'][number];

/** What the model said, as the part that it was where it came from us. */
export function saidPart(content: Said): Part | undefined {
  const kept = keptPart(content);
  switch (content.type) {
    case 'output_text':
      if (kept?.kind === 'structured') return structuredPart(content.text, kept);
      return { ...kept, kind: 'text', text: content.text };
    case 'refusal':
      return { ...kept, kind: 'text', text: content.refusal };
    case 'image':
      return { ...kept, kind: 'media', ...sourceOf(content.image, 'image/png') };
    case 'audio':
      // The model's own voice: what it said is in the transcript.
      return content.transcript ? { kind: 'text', text: content.transcript } : undefined;
  }
}

function structuredPart(text: string, kept: JsonObject): Part {
  const parsed = parseJson(text);
  return parsed.ok ? { ...kept, kind: 'structured', value: parsed.value } : { kind: 'text', text };
}

export function callPart(item: protocol.FunctionCallItem): Part {
  const { callId, name, arguments: text } = item;
  const said = {
    kind: 'tool_call',
    toolCallId: toolCallId(callId),
    name,
    arguments: text,
  } as const;
  return { ...keptPart(item), ...said };
}

/** Reasoning of another model, and what else only its maker can read, is nothing to ours. */
export function privatePart(item: protocol.ReasoningItem): Part | undefined {
  const kept = keptPart(item);
  if (kept?.kind === 'custom') return kept as JsonObject as unknown as Part;
  if (kept?.kind !== 'reasoning') return undefined;
  const texts = [...item.content, ...(item.rawContent ?? [])].map(({ text }) => text);
  return {
    ...(kept as JsonObject as unknown as Part & { kind: 'reasoning' }),
    text: texts.join(''),
  };
}
