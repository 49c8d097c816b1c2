import type { JsonObject, JsonValue, ToolCallId, ToolResultPart } from '@millrace/core';
import { type Attachment, attachmentContent, describeAttachment } from '../history/attachment.ts';
import type { AssistantMessage, AssistantPart, Message, SentToolCall } from '../history/message.ts';
import { arrayIn, isObject, objectIn, textIn } from '../json/fields.ts';
import { attachmentInput, inputContent, nativeAttachment } from './content.ts';
import {
  isCall,
  isReasoning,
  keepReasoningPairs,
  type ReasoningPairOptions,
  type SentItem,
} from './reasoning-pairs.ts';

interface InputOptions extends ReasoningPairOptions {
  readonly needsMessageIds: boolean;
}

/** Converts the conversation to the input items of a request. */
export function inputItems(
  messages: readonly Message[],
  options: InputOptions,
): readonly JsonObject[] {
  const customCalls = customCallsIn(messages);
  const items = messages.flatMap((message) => itemsOf(message, options, customCalls));
  return options.needsMessageIds ? items.map(withMessageId) : items;
}

/**
 * The id depends on the position, so that it is the same in the next request and the cache matches.
 */
function withMessageId(item: JsonObject, index: number): JsonObject {
  const isAnswer = item['type'] === 'message' && item['role'] === 'assistant';
  return isAnswer && item['id'] === undefined ? { ...item, id: `msg_history_${index}` } : item;
}

function itemsOf(
  message: Message,
  options: ReasoningPairOptions,
  customCalls: ReadonlySet<ToolCallId>,
): readonly JsonObject[] {
  switch (message.role) {
    case 'system':
    case 'developer':
    case 'user':
      return [{ role: message.role, content: message.parts.map(inputContent) }];
    case 'assistant':
      return assistantItems(message, options);
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

/** The calls of tools with plain text input. Their results have another type too. */
function customCallsIn(messages: readonly Message[]): ReadonlySet<ToolCallId> {
  const parts = messages.flatMap((message) => (message.role === 'assistant' ? message.parts : []));
  return new Set(
    parts.flatMap((part) => (part.kind === 'tool_call' && isCustom(part) ? part.toolCallId : [])),
  );
}

/** A string, or a list if there are attachments. */
function outputOf({ text, attachments = [] }: ToolResultPart): JsonValue {
  if (attachments.length === 0) return text;
  const textContent = text === '' ? [] : [{ type: 'input_text', text }];
  return [...textContent, ...attachments.map(attachmentInput)];
}

/**
 * Converts an assistant message to the items that it came from. Items of other providers have no
 * ids.
 */
function assistantItems(
  message: AssistantMessage,
  options: ReasoningPairOptions,
): readonly JsonObject[] {
  return keepReasoningPairs(message.parts.reduce(addPart, []), options);
}

function addPart(items: readonly SentItem[], part: AssistantPart): readonly SentItem[] {
  const state = stateOf(part);
  const origin = objectIn(state, 'origin');
  switch (part.kind) {
    case 'text':
    case 'structured':
      return addContent(items, messageContent(part), state);
    case 'reasoning':
      // The state is the original item. Some servers leave out the summary, which is required.
      return [...items, { item: { ...withoutNulls(state), summary: arrayIn(state, 'summary') } }];
    case 'tool_call':
      return [...items, { item: callItem(part, state), origin }];
    case 'custom':
      return isObject(part.value) ? [...items, { item: part.value, origin }] : items;
    case 'media':
    case 'file':
      return addImage(items, part, state);
  }
}

/** Puts the bytes of a picture back into the call that created it. */
function addImage(
  items: readonly SentItem[],
  part: Attachment,
  state: JsonObject,
): readonly SentItem[] {
  if (part.partial) return items;
  const content = attachmentContent(part);
  if (state['type'] !== 'image_generation_call' || content.type !== 'base64') {
    const native = nativeAttachment(part);
    // Assistant messages cannot contain pictures. A picture of another model is sent as the user's.
    if (native !== undefined) return [{ item: { role: 'user', content: [native] } }, ...items];
    return addWords(items, describeAttachment(part));
  }
  const isMaker = ({ item }: SentItem) =>
    item['type'] === state['type'] && textIn(item, 'id') === textIn(state, 'id');
  const withResult = { result: content.data };
  return items.map((sent) =>
    isMaker(sent) ? { ...sent, item: { ...sent.item, ...withResult } } : sent,
  );
}

/**
 * Inserts text before calls, which their results must follow, and before reasoning, which its
 * result must follow.
 */
function addWords(items: readonly SentItem[], text: string): readonly SentItem[] {
  const first = items.findIndex(({ item }) => isCall(item) || isReasoning(item));
  const at = first < 0 ? items.length : first;
  return [...addContent(items.slice(0, at), outputText(text), {}), ...items.slice(at)];
}

/** Strict APIs accept a missing field, but not null. */
function withoutNulls(item: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null));
}

function stateOf({ providerState }: AssistantPart): JsonObject {
  return isObject(providerState?.data) ? providerState.data : {};
}

function messageContent(
  part: AssistantPart & { readonly kind: 'text' | 'structured' },
): JsonObject {
  if (part.kind === 'structured') {
    return outputText(JSON.stringify(part.value));
  }
  const { text, metadata } = part;
  const isRefusal = metadata?.['refusal'] === true;
  return isRefusal ? { type: 'refusal', refusal: text } : outputText(text);
}

/** An output text with all required fields. */
function outputText(text: string): JsonObject {
  return { type: 'output_text', text, annotations: [] };
}

/** Adds the content to the last item, if both belong to the same message. */
function addContent(
  items: readonly SentItem[],
  content: JsonObject,
  state: JsonObject,
): readonly SentItem[] {
  const last = items.at(-1);
  const same = (key: string) => textIn(last?.item, key) === textIn(state, key);
  if (last?.item['type'] === 'message' && same('id') && same('phase')) {
    const item = { ...last.item, content: [...arrayIn(last.item, 'content'), content] };
    return [...items.slice(0, -1), { ...last, item }];
  }
  const { origin: _origin, ...own } = state;
  const message = { type: 'message', role: 'assistant', status: 'completed', content: [content] };
  const item = { ...own, ...message };
  return [...items, { item, origin: objectIn(state, 'origin') }];
}

function callItem(call: SentToolCall, state: JsonObject): JsonObject {
  const { origin: _origin, ...own } = state;
  const named = { call_id: call.toolCallId, name: call.name };
  if (isCustom(call)) return { ...own, ...named, input: textIn(call.input, 'input') ?? '' };
  return { ...own, type: 'function_call', ...named, arguments: call.arguments };
}

/** True for a call of a tool with plain text input. */
function isCustom(call: SentToolCall): boolean {
  return stateOf(call)['type'] === 'custom_tool_call';
}
