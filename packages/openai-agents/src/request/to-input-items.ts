import type { Item, Part, ToolResultPart } from '@millrace/core';
import type { AgentInputItem, protocol } from '@openai/agents';
import { addressOf } from '../response/address-of.ts';
import { toOutputItems } from '../response/to-output-items.ts';

/**
 * Millrace's items as input of a run, for instance `context.toItems(await context.messages.list())`:
 * the way back of `toModelRequest`. What is for people only is left out.
 */
export function toInputItems(items: readonly Item[]): AgentInputItem[] {
  return items.flatMap(inputItems);
}

function inputItems({ id, kind, parts }: Item): readonly AgentInputItem[] {
  switch (kind) {
    case 'system':
    case 'developer':
      return [{ role: 'system', content: textOf(parts) }];
    case 'user':
    case 'context':
      return [{ role: 'user', content: parts.flatMap((part) => heard(part) ?? []) }];
    case 'assistant':
      return toOutputItems(parts.map((part, at) => ({ id: `${id}.${at}`, part })));
    case 'tool':
      return parts.flatMap((part) => (part.kind === 'tool_result' ? resultItem(part) : []));
    case 'notification':
      return [];
  }
}

function textOf(parts: readonly Part[]): string {
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
}

type Heard = protocol.InputText | protocol.InputImage | protocol.InputFile;

function heard(part: Part): Heard | undefined {
  switch (part.kind) {
    case 'text':
      return { type: 'input_text', text: part.text };
    case 'structured':
      return { type: 'input_text', text: JSON.stringify(part.value) };
    case 'media':
    case 'file': {
      const address = addressOf(part);
      if (address === undefined) return undefined;
      if (part.mimeType.startsWith('image/')) return { type: 'input_image', image: address };
      const filename = part.kind === 'file' ? part.name : undefined;
      return { type: 'input_file', file: address, filename };
    }
    default:
      return undefined;
  }
}

function resultItem(part: ToolResultPart): protocol.FunctionCallResultItem {
  const { toolCallId: callId, name, text, isError, attachments = [] } = part;
  const shown = attachments.flatMap((one) => heard(one) ?? []);
  return {
    ...{ type: 'function_call_result', callId, name },
    status: isError ? 'incomplete' : 'completed',
    output: shown.length === 0 ? text : [{ type: 'input_text', text }, ...shown],
  };
}
