import { isJsonObject, type JsonObject, type JsonValue, type ToolResultPart } from '@millrace/core';
import { type Attachment, attachmentContent, describeAttachment } from '../history/attachment.ts';
import type { AssistantMessage, AssistantPart, Message, SentToolCall } from '../history/message.ts';
import { arrayIn, objectIn, textIn } from '../json/fields.ts';
import { type BuiltInCall, builtInCall } from './built-ins/built-in-calls.ts';
import { builtInOutput } from './built-ins/built-in-outputs.ts';
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
  const items: JsonObject[] = [];
  let answer: readonly JsonObject[] = [];
  for (const [index, message] of messages.entries()) {
    if (message.role === 'assistant') {
      const results = messages[index + 1];
      answer = assistantItems(message, results?.role === 'tool' ? results.results : [], options);
      items.push(...answer);
    } else if (message.role === 'tool') {
      const before = messages[index - 1];
      const calls = before?.role === 'assistant' ? before.parts : [];
      items.push(...message.results.map((result) => resultItem(result, calls, answer)));
    } else items.push({ role: message.role, content: message.parts.map(inputContent) });
  }
  return options.needsMessageIds ? items.map(withMessageId) : items;
}

/**
 * Adds an id to an assistant message that has no id. The id is computed from the position. It is therefore
 * the same in the next request, and the cached prefix still matches.
 */
function withMessageId(item: JsonObject, index: number): JsonObject {
  const isAnswer = item['type'] === 'message' && item['role'] === 'assistant';
  return isAnswer && item['id'] === undefined ? { ...item, id: `msg_history_${index}` } : item;
}

/** Converts a tool result. The type of the result depends on the item with which its call was sent. */
function resultItem(
  result: ToolResultPart,
  calls: readonly AssistantPart[],
  sent: readonly JsonObject[],
): JsonObject {
  const call = calls.find(
    (part) => part.kind === 'tool_call' && part.toolCallId === result.toolCallId,
  );
  const { toolCallId: call_id } = result;
  if (call?.kind === 'tool_call') {
    const builtIn = builtInOf(call);
    const id = builtIn && sentId(call, builtIn);
    const item = builtIn && sent.find((one) => isSentAs(one, call, builtIn));
    const output = item && id !== undefined && builtInOutput({ item, callId: id }, result);
    if (output) return output;
    if (isCustom(call))
      return { type: 'custom_tool_call_output', call_id, output: outputOf(result) };
  }
  return { type: 'function_call_output', call_id, output: outputOf(result) };
}

function isSentAs(item: JsonObject, call: SentToolCall, builtIn: BuiltInCall): boolean {
  const isSame = item['type'] === stateOf(call)['type'];
  return isSame && textIn(item, builtIn.idField) === sentId(call, builtIn);
}

/** Returns the output of a result. It is a string, or a list if there are attachments. */
function outputOf({ text, attachments = [] }: ToolResultPart): JsonValue {
  if (attachments.length === 0) return text;
  const textContent = text === '' ? [] : [{ type: 'input_text', text }];
  return [...textContent, ...attachments.map(attachmentInput)];
}

/**
 * Converts an assistant message back to the items that it came from. Items for parts of other providers have
 * no ids.
 */
function assistantItems(
  message: AssistantMessage,
  results: readonly ToolResultPart[],
  options: ReasoningPairOptions,
): readonly JsonObject[] {
  const add = (items: readonly SentItem[], part: AssistantPart) => addPart(items, part, results);
  return keepReasoningPairs(message.parts.reduce(add, []), options);
}

function addPart(
  items: readonly SentItem[],
  part: AssistantPart,
  results: readonly ToolResultPart[],
): readonly SentItem[] {
  const state = stateOf(part);
  const origin = objectIn(state, 'origin');
  switch (part.kind) {
    case 'text':
    case 'structured':
      return addContent(items, messageContent(part), state);
    case 'reasoning':
      // The state contains the original item. Some servers omit `summary`, which the API requires.
      return [...items, { item: { ...withoutNulls(state), summary: arrayIn(state, 'summary') } }];
    case 'tool_call':
      return [...items, builtInItem(part, results) ?? { item: callItem(part, state), origin }];
    case 'custom':
      // A custom tool that the provider ran itself has no output, and the API rejects such a call without an
      // output.
      return isJsonObject(part.value) && part.name !== 'custom_tool_call'
        ? [...items, { item: part.value, origin }]
        : items;
    case 'media':
    case 'file':
      return addImage(items, part, state);
  }
}

/** Puts the bytes of an image back into the call that created the image. */
function addImage(
  items: readonly SentItem[],
  part: Attachment,
  state: JsonObject,
): readonly SentItem[] {
  if (part.partial) return items;
  const content = attachmentContent(part);
  if (state['type'] !== 'image_generation_call' || content.type !== 'base64') {
    const native = nativeAttachment(part);
    // Assistant messages cannot contain images, so an image of a different model is sent as a user message.
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
 * Inserts text before the first call or reasoning. The text must not separate a call from its result, or
 * reasoning from the item that belongs to it.
 */
function addWords(items: readonly SentItem[], text: string): readonly SentItem[] {
  const first = items.findIndex((sent) => isCall(sent) || isReasoning(sent.item));
  const at = first < 0 ? items.length : first;
  return [...addContent(items.slice(0, at), outputText(text), {}), ...items.slice(at)];
}

/** Removes fields whose value is null. Strict APIs accept a missing field, but reject null. */
function withoutNulls(item: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null));
}

function stateOf({ providerState }: AssistantPart): JsonObject {
  return isJsonObject(providerState?.data) ? providerState.data : {};
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

/** Creates an output text with all required fields. */
function outputText(text: string): JsonObject {
  return { type: 'output_text', text, annotations: [] };
}

/**
 * Adds content to the last item if both belong to the same message. Otherwise adds a new message.
 */
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

/**
 * Converts the call of a built-in tool. If the API cannot express the result of the call, the call is sent as
 * a function call. Returns undefined for other calls, and for a call without a result.
 */
function builtInItem(call: SentToolCall, results: readonly ToolResultPart[]): SentItem | undefined {
  const builtIn = builtInOf(call);
  const result = results.find(({ toolCallId }) => toolCallId === call.toolCallId);
  if (builtIn === undefined || result === undefined) return undefined;
  const { origin, ...own } = stateOf(call);
  const callId = sentId(call, builtIn);
  const status = builtIn.idField === 'id' ? {} : { status: 'completed' };
  const item = {
    ...builtIn.requiredFields,
    ...withoutNulls(own),
    [builtIn.idField]: callId,
    ...status,
  };
  const plain = callItem(call, {});
  if (builtInOutput({ item, callId }, result) === undefined) return { item: plain };
  return {
    item,
    isAnswered: true,
    ...(isJsonObject(origin) ? { origin } : {}),
    ...(builtIn.needsOwnId ? { withoutReasoning: plain } : {}),
  };
}

function builtInOf(call: SentToolCall): BuiltInCall | undefined {
  return builtInCall(textIn(stateOf(call), 'type'));
}

/** Returns the id that the output must repeat. For approvals, it is the id that the provider created. */
function sentId(call: SentToolCall, { idField }: BuiltInCall): string {
  return idField === 'id' ? (textIn(stateOf(call), 'id') ?? call.toolCallId) : call.toolCallId;
}

function callItem(call: SentToolCall, state: JsonObject): JsonObject {
  const { origin: _origin, ...own } = state;
  const named = { call_id: call.toolCallId, name: call.name };
  if (isCustom(call)) return { ...own, ...named, input: textIn(call.input, 'input') ?? '' };
  return { ...own, type: 'function_call', ...named, arguments: call.arguments };
}

/** Returns whether a call belongs to a tool with plain text input. */
function isCustom(call: SentToolCall): boolean {
  return stateOf(call)['type'] === 'custom_tool_call';
}
