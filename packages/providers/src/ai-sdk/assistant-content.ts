import type { LanguageModelV4Message } from '@ai-sdk/provider';
import type { AssistantPart } from '../history/message.ts';
import { filePart } from './file-part.ts';
import { hostedContent } from './hosted-content.ts';
import { optionsOf } from './provider-state.ts';

export type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'];

/** What the model said, as it is told of it; with what the provider wants back. */
export function assistantContent(part: AssistantPart): AssistantContent {
  const options = optionsOf(part.providerState);
  switch (part.kind) {
    case 'text':
      return [{ type: 'text', text: part.text, ...options }];
    case 'structured':
      return [{ type: 'text', text: JSON.stringify(part.value), ...options }];
    case 'reasoning':
      return [{ type: 'reasoning', text: part.text, ...options }];
    case 'media':
    case 'file':
      return [{ ...filePart(part), ...options }];
    case 'tool_call': {
      const { toolCallId, name: toolName, input } = part;
      return [{ type: 'tool-call', toolCallId, toolName, input, ...options }];
    }
    case 'custom':
      return hostedContent(part.value, options);
  }
}
