import type { JsonObject, JsonValue, ToolCallId, ToolResultPart } from '@millrace/core';
import type { Message } from '../history/message.ts';
import { attachmentContent, inputContent } from './content.ts';
import type { KeepOptions } from './keep-together.ts';
import { isCustom, replay } from './replay.ts';

export interface InputOptions extends KeepOptions {
  readonly needsMessageIds: boolean;
}

/** The conversation as the items of a request's input. */
export function inputItems(
  messages: readonly Message[],
  options: InputOptions,
): readonly JsonObject[] {
  const customCalls = customCallsIn(messages);
  const items = messages.flatMap((message) => itemsOf(message, options, customCalls));
  return options.needsMessageIds ? items.map(withMessageId) : items;
}

/** By its place, so that it is the same in the next request, and what is cached fits. */
function withMessageId(item: JsonObject, index: number): JsonObject {
  const isAnswer = item['type'] === 'message' && item['role'] === 'assistant';
  return isAnswer && item['id'] === undefined ? { ...item, id: `msg_history_${index}` } : item;
}

function itemsOf(
  message: Message,
  options: KeepOptions,
  customCalls: ReadonlySet<ToolCallId>,
): readonly JsonObject[] {
  switch (message.role) {
    case 'system':
    case 'developer':
    case 'user':
      return [{ role: message.role, content: message.parts.map(inputContent) }];
    case 'assistant':
      return replay(message, options);
    case 'tool':
      return message.results.map((result) => ({
        type: customCalls.has(result.toolCallId)
          ? 'custom_tool_call_output'
          : 'function_call_output',
        call_id: result.toolCallId,
        output: outputOf(result),
      }));
  }
}

/** The calls of tools that take plain text: their results have another type as well. */
function customCallsIn(messages: readonly Message[]): ReadonlySet<ToolCallId> {
  const parts = messages.flatMap((message) => (message.role === 'assistant' ? message.parts : []));
  return new Set(
    parts.flatMap((part) => (part.kind === 'tool_call' && isCustom(part) ? part.toolCallId : [])),
  );
}

/** Text, or a list where there is more than text. */
function outputOf({ text, attachments = [] }: ToolResultPart): JsonValue {
  if (attachments.length === 0) return text;
  const said = text === '' ? [] : [{ type: 'input_text', text }];
  return [...said, ...attachments.map(attachmentContent)];
}
