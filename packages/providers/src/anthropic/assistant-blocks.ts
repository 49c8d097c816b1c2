import type { CustomPart, JsonObject, ReasoningPart, TextPart } from '@millrace/core';
import type { AssistantPart, SentCall } from '../history/message.ts';
import { wellFormedValue } from '../history/well-formed-value.ts';
import { arrayIn, isObject, textIn } from '../json/fields.ts';
import { containerName } from './container.ts';
import { saidBlock, textBlock } from './content-blocks.ts';

/** What the model said, as it was when it said it; undefined for what cannot be sent back. */
export function assistantBlock(part: AssistantPart): JsonObject | undefined {
  switch (part.kind) {
    case 'text':
      return citedText(part);
    case 'structured':
      return saidBlock(part);
    case 'reasoning':
      return thinkingBlock(part);
    case 'tool_call':
      return toolUseBlock(part);
    case 'custom':
      return hostedBlock(part);
    case 'media':
    case 'file':
      // Another model's: only a user can show a picture here.
      return { type: 'text', text: `[${part.mimeType}]` };
  }
}

function stateOf({ providerState }: AssistantPart): JsonObject | undefined {
  return isObject(providerState?.data) ? providerState.data : undefined;
}

function citedText(part: TextPart): JsonObject | undefined {
  const block = textBlock(part.text);
  const citations = arrayIn(stateOf(part), 'citations');
  return block === undefined || citations.length === 0 ? block : { ...block, citations };
}

/** Thinking that nobody signed is refused. */
function thinkingBlock(part: ReasoningPart): JsonObject | undefined {
  const data = textIn(stateOf(part), 'data');
  if (data !== undefined) return { type: 'redacted_thinking', data };
  const signature = part.signature ?? textIn(stateOf(part), 'signature');
  return signature === undefined ? undefined : { type: 'thinking', thinking: part.text, signature };
}

function toolUseBlock(part: SentCall): JsonObject {
  const { container: _elsewhere, ...rest } = stateOf(part) ?? {};
  const { toolCallId: id, name, input } = part;
  return { ...rest, type: 'tool_use', id, name, input };
}

function hostedBlock({ name, value: given }: CustomPart): JsonObject | undefined {
  const value = wellFormedValue(given);
  if (!isObject(value) || name === containerName) return undefined;
  // Arguments that are no JSON are kept as text, and would be refused as such.
  return typeof value['input'] === 'string' ? { ...value, input: {} } : value;
}
