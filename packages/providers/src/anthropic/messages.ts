import {
  type CustomPart,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type ReasoningPart,
  type TextPart,
  type ToolResultPart,
} from '@millrace/core';
import type { CacheHints } from '../contract/model-request.ts';
import { fault } from '../errors/wire-fault.ts';
import type { AssistantPart, ContentPart, Message, SentToolCall } from '../history/message.ts';
import { wellFormedValue } from '../history/sendable-parts.ts';
import { arrayIn, textIn } from '../json/fields.ts';
import { containerName } from './container.ts';
import { attachmentBlock, contentBlock, textBlock } from './content.ts';

export interface MessageTurn {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: readonly JsonObject[];
}

interface Conversation {
  readonly system: readonly JsonObject[];
  readonly turns: readonly MessageTurn[];
  /** The number of cache points that the conversation contains. */
  readonly cachePoints: number;
}

/** The rules of a model for conversations. */
interface ConversationRules {
  /**
   * True if the model accepts instructions as system messages. Otherwise they are sent as part of a user
   * turn.
   */
  readonly takesSystemMessages: boolean;
  /**
   * True if the model can continue an assistant turn at the end of the conversation. Otherwise the API
   * rejects a conversation that ends with an assistant turn.
   */
  readonly takesPrefill: boolean;
}

/**
 * Converts messages to the format of the API: system blocks, and alternating turns of user and assistant.
 * Instructions at the start become the system blocks. Later instructions keep their position, so the prefix
 * that the provider has cached does not change.
 */
export function conversationOf(
  messages: readonly Message[],
  cache: CacheHints | undefined,
  rules: ConversationRules,
): Conversation {
  const points = new CachePoints(cacheControl(cache));
  const unpaired = unpairedParts(messages);
  const start = messages.findIndex((message) => roleOf(message) !== 'system');
  const later = start < 0 ? [] : messages.slice(start);
  const system: JsonObject[] = [];
  for (const message of messages.slice(0, messages.length - later.length)) {
    const blocks = definedBlocks(message, unpaired);
    system.push(...blocks);
    if (message.isCachePoint) points.addAfter(system);
  }
  const turns: { role: MessageTurn['role']; content: JsonObject[] }[] = [];
  for (const [index, message] of later.entries()) {
    const role = turnRole(later, index, turns.at(-1)?.role, rules);
    const blocks = definedBlocks(message, unpaired).map((block) =>
      role === 'user' && roleOf(message) === 'system' ? asInstruction(block) : block,
    );
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...blocks);
    else if (blocks.length > 0) turns.push({ role, content: blocks });
    if (message.isCachePoint) points.addAfter(turns.at(-1)?.content ?? system);
  }
  const marked = turns.map(({ role, content }) => ({ role, content: points.applyTo(content) }));
  return {
    system: points.applyTo(system),
    turns: withValidEnds(marked, rules),
    cachePoints: points.count,
  };
}

/**
 * Returns the role of the turn that a message belongs to. The API accepts a system message between a user
 * turn and an assistant turn. It also accepts one at the end, after a user turn.
 */
function turnRole(
  messages: readonly Message[],
  index: number,
  before: MessageTurn['role'] | undefined,
  { takesSystemMessages }: ConversationRules,
): MessageTurn['role'] {
  const own = messages[index];
  const role = own === undefined ? 'user' : roleOf(own);
  if (role !== 'system') return role;
  const next = messages.slice(index + 1).find((message) => roleOf(message) !== 'system');
  const isBeforeAnswer = next === undefined || next.role === 'assistant';
  const isPlaced = isBeforeAnswer && (before === 'user' || before === 'system');
  return takesSystemMessages && isPlaced ? 'system' : 'user';
}

/** Marks an instruction in a user turn, so that the model does not confuse it with the user's text. */
function asInstruction(block: JsonObject): JsonObject {
  return { ...block, text: `<system>\n${String(block['text'])}\n</system>` };
}

function roleOf({ role }: Message): MessageTurn['role'] {
  switch (role) {
    case 'system':
    case 'developer':
      return 'system';
    case 'user':
    case 'tool':
      return 'user';
    case 'assistant':
      return 'assistant';
  }
}

function definedBlocks(message: Message, unpaired: ReadonlySet<unknown>): JsonObject[] {
  return sentBlocks(message, unpaired).filter((block) => block !== undefined);
}

function sentBlocks(
  message: Message,
  unpaired: ReadonlySet<unknown>,
): readonly (JsonObject | undefined)[] {
  switch (message.role) {
    case 'system':
    case 'developer':
      return message.parts.map((part) => instruction(part, message.role));
    case 'user':
      return message.parts.map(contentBlock);
    case 'assistant':
      return message.parts
        .filter((part, index) => !unpaired.has(part) && !isLateThinking(message.parts, index))
        .map(assistantBlock);
    case 'tool':
      return message.results.map(toolResultBlock);
  }
}

/** Returns whether a part is thinking after a tool call. The API rejects thinking at this position. */
function isLateThinking(parts: readonly AssistantPart[], index: number): boolean {
  const firstCall = parts.findIndex(({ kind }) => kind === 'tool_call');
  return parts[index]?.kind === 'reasoning' && firstCall >= 0 && firstCall < index;
}

function instruction(part: ContentPart, role: string): JsonObject | undefined {
  if (part.kind === 'text' || part.kind === 'structured') return contentBlock(part);
  throw fault('invalid_request', `a ${role} item has a ${part.kind} part; put it into a user item`);
}

/**
 * Returns the turns with a first and a last turn that the API accepts. The first turn must be a user turn. An
 * assistant turn at the end must not end with thinking or white space. If the model cannot continue an
 * assistant turn, a user turn is added that asks it to continue.
 */
function withValidEnds(
  turns: readonly MessageTurn[],
  { takesPrefill }: ConversationRules,
): readonly MessageTurn[] {
  const started = turns[0]?.role === 'user' ? turns : [userTurn('(It begins here.)'), ...turns];
  const last = started.at(-1);
  if (last?.role !== 'assistant' || isWaitingForServer(last)) return started;
  const end = last.content.findLastIndex((block) => !isThinking(block));
  const content = withoutTrailingSpace(last.content.slice(0, end + 1));
  if (content.length === 0) return started.slice(0, -1);
  if (takesPrefill) return [...started.slice(0, -1), { ...last, content }];
  return [...started, userTurn('Continue your answer exactly where it stopped.')];
}

function userTurn(text: string): MessageTurn {
  return { role: 'user', content: [{ type: 'text', text }] };
}

/**
 * Returns whether the provider paused the turn while its own tool ran. The provider continues such a turn
 * itself.
 */
function isWaitingForServer({ content }: MessageTurn): boolean {
  const type = String(content.at(-1)?.['type'] ?? '');
  return type.endsWith('_tool_use') && type !== 'tool_use';
}

function isThinking({ type }: JsonObject): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}

/**
 * Removes white space from the end of the last text block. The result is never empty, because blocks without
 * visible characters were removed before.
 */
function withoutTrailingSpace(content: readonly JsonObject[]): readonly JsonObject[] {
  const last = content.at(-1);
  const text = last?.['type'] === 'text' ? last['text'] : undefined;
  if (typeof text !== 'string') return content;
  return [...content.slice(0, -1), { ...last, text: text.trimEnd() }];
}

/**
 * Converts an assistant part back to the block that it came from. Returns undefined if the part cannot be
 * sent back.
 */
function assistantBlock(part: AssistantPart): JsonObject | undefined {
  switch (part.kind) {
    case 'text':
      return citedText(part);
    case 'structured':
      return contentBlock(part);
    case 'reasoning':
      return thinkingBlock(part);
    case 'tool_call':
      return toolUseBlock(part);
    case 'custom':
      return hostedBlock(part);
    case 'media':
    case 'file':
      // A different provider's model created the image. In this API, only user turns can contain images.
      return { type: 'text', text: `[${part.mimeType}]` };
  }
}

function stateOf({ providerState }: AssistantPart): JsonObject | undefined {
  return isJsonObject(providerState?.data) ? providerState.data : undefined;
}

function citedText(part: TextPart): JsonObject | undefined {
  const block = textBlock(part.text);
  const citations = arrayIn(stateOf(part), 'citations');
  return block === undefined || citations.length === 0 ? block : { ...block, citations };
}

/**
 * Converts a reasoning part. Returns undefined if the part has no signature, because the API rejects thinking
 * without a signature.
 */
function thinkingBlock(part: ReasoningPart): JsonObject | undefined {
  const data = textIn(stateOf(part), 'data');
  if (data !== undefined) return { type: 'redacted_thinking', data };
  const signature = part.signature ?? textIn(stateOf(part), 'signature');
  return signature === undefined ? undefined : { type: 'thinking', thinking: part.text, signature };
}

function toolUseBlock(part: SentToolCall): JsonObject {
  const { container: _elsewhere, abort_reason: _why, ...rest } = stateOf(part) ?? {};
  const { toolCallId: id, name, input } = part;
  return { ...rest, type: 'tool_use', id, name, input };
}

function hostedBlock({ name, value: given }: CustomPart): JsonObject | undefined {
  const value = wellFormedValue(given);
  if (!isJsonObject(value) || name === containerName) return undefined;
  const { abort_reason: _why, ...block } = value;
  const content = block['content'];
  return {
    ...block,
    // Arguments that are not JSON are stored as text. The API rejects text as input, so an empty object is
    // sent.
    ...(typeof block['input'] === 'string' ? { input: {} } : {}),
    ...(content === undefined ? {} : { content: withoutAbortReason(content) }),
  };
}

/**
 * Removes the reason why a tool was aborted. The API sends this field in answers, but rejects it in requests.
 */
function withoutAbortReason(content: JsonValue): JsonValue {
  if (Array.isArray(content)) return content.map(withoutAbortReason);
  if (!isJsonObject(content)) return content;
  const { abort_reason: _why, ...rest } = content;
  return rest;
}

function toolResultBlock(part: ToolResultPart): JsonObject {
  const { toolCallId, isError, attachments = [] } = part;
  const seen = attachments.map(attachmentBlock);
  const text = part.text === '' && isError ? 'The tool failed and did not say why.' : part.text;
  const content = seen.length === 0 ? text : [...[textBlock(text) ?? []].flat(), ...seen];
  return {
    type: 'tool_result',
    tool_use_id: toolCallId,
    ...(content === '' ? {} : { content }),
    ...(isError ? { is_error: true } : {}),
  };
}

/**
 * Returns hosted calls without a result, and results without a call. The API rejects both. A call in the last
 * answer is not included until the user sends a message, because its result may still arrive.
 */
function unpairedParts(messages: readonly Message[]): ReadonlySet<CustomPart> {
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  const isContinued = messages.slice(last + 1).every(({ role }) => role === 'tool');
  const hosted = messages.flatMap((message, index) =>
    customParts(message).map((part) => ({
      part,
      callId: hostedCallId(part.value),
      resultOf: textField(part.value, 'tool_use_id'),
      mayWait: isContinued && index === last,
    })),
  );
  const calls = new Set(hosted.map(({ callId }) => callId));
  const answered = new Set(hosted.map(({ resultOf }) => resultOf));
  const unpaired = hosted.filter(({ callId, resultOf, mayWait }) => {
    if (resultOf !== undefined) return !calls.has(resultOf);
    return callId !== undefined && !answered.has(callId) && !mayWait;
  });
  return new Set(unpaired.map(({ part }) => part));
}

function customParts(message: Message): readonly CustomPart[] {
  if (message.role !== 'assistant') return [];
  return message.parts.flatMap((part) => (part.kind === 'custom' ? part : []));
}

function hostedCallId(value: JsonValue): string | undefined {
  return textField(value, 'type')?.endsWith('_tool_use') ? textField(value, 'id') : undefined;
}

function textField(value: JsonValue, key: string): string | undefined {
  return isJsonObject(value) ? textIn(value, key) : undefined;
}

/** The types of blocks that cannot have a cache point. */
const uncacheable: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking']);

/** Returns the field that marks a cache point. The API caches the prefix up to the block with this field. */
export function cacheControl(cache: CacheHints | undefined): JsonObject {
  return { type: 'ephemeral', ...(cache?.longLived ? { ttl: '1h' } : {}) };
}

/** Collects cache points and adds their marks to the blocks. */
class CachePoints {
  readonly #points = new Set<JsonObject>();
  readonly #control: JsonObject;

  constructor(control: JsonObject) {
    this.#control = control;
  }

  get count(): number {
    return this.#points.size;
  }

  /** Adds a cache point after these blocks. */
  addAfter(blocks: readonly JsonObject[]): void {
    const last = blocks.findLast(({ type }) => !uncacheable.has(type));
    if (last !== undefined) this.#points.add(last);
  }

  applyTo(blocks: readonly JsonObject[]): readonly JsonObject[] {
    return blocks.map((block) =>
      this.#points.has(block) ? { ...block, cache_control: this.#control } : block,
    );
  }
}
