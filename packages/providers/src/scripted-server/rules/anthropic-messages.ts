import type { JsonObject } from '@millrace/core';
import {
  faultIf,
  isList,
  isNonEmptyText,
  isObject,
  objectsOf,
  repeated,
  type SignedContent,
  textOf,
} from './document.ts';

/** Additional checks of a request, which go beyond the rules of the API. */
export interface AnthropicRules {
  /**
   * All thinking blocks that the provider sent. A request may contain only these blocks, and they must be
   * unchanged.
   */
  readonly signed?: readonly SignedContent[];
  /**
   * True if text after tool results is a fault. The API accepts such text, but models often respond to it
   * with an empty answer.
   */
  readonly refusesTextAfterResults?: boolean;
}

/** The rules of a model for conversations. */
export interface ModelRules {
  /** True if the model accepts system messages inside the conversation. */
  readonly takesSystemMessages: boolean;
  /** True if the model can continue an assistant message at the end of the conversation. */
  readonly takesPrefill: boolean;
}

interface Message {
  readonly role: string;
  readonly blocks: readonly JsonObject[];
  readonly at: string;
}

/** Returns the reasons why the API would reject the messages of a request. */
export function anthropicMessageFaults(
  given: readonly JsonObject[],
  rules: AnthropicRules,
  model: ModelRules,
): readonly string[] {
  const messages = given.map(({ role, content }, index) => ({
    role: textOf(role),
    blocks: objectsOf(isList(content) ? content : [{ type: 'text', text: content ?? '' }]),
    at: `messages[${index}]`,
  }));
  const ids = messages.flatMap(({ blocks }) => idsOf(blocks, 'tool_use', 'id'));
  return [
    ...faultIf(messages.length === 0, 'messages: none'),
    ...messages.flatMap((message, index) => [
      ...roleFaults(message, messages[index - 1], model),
      ...(model.takesSystemMessages
        ? systemMessageFaults(message, messages[index - 1], messages[index + 1])
        : []),
      ...faultIf(message.blocks.length === 0, `${message.at}.content: empty`),
      ...anthropicBlockFaults(message.blocks, message.role, message.at, rules),
      ...resultFaults(message, messages[index - 1], rules),
      ...answerFaults(message, messages[index + 1]),
      ...hostedFaults(message),
    ]),
    ...repeated(ids).map((id) => `messages: the call ${id} twice`),
    ...endFaults(messages.at(-1), model),
  ];
}

function idsOf(blocks: readonly JsonObject[], type: string, name: string): readonly string[] {
  return blocks.filter((block) => block['type'] === type).map((block) => textOf(block[name]));
}

function roleFaults(
  { role, at }: Message,
  before: Message | undefined,
  { takesSystemMessages }: ModelRules,
): readonly string[] {
  const isKnown = role === 'user' || role === 'assistant';
  if (!isKnown && !(role === 'system' && takesSystemMessages)) {
    return [`${at}.role: ${role || 'missing'}`];
  }
  if (before === undefined) return faultIf(role !== 'user', `${at}.role: must begin with a user`);
  return faultIf(role === before.role, `${at}.role: ${role} twice in a row`);
}

/** Checks that a system message has only text, and that it is between a user message and an answer. */
function systemMessageFaults(
  { role, blocks, at }: Message,
  before: Message | undefined,
  next: Message | undefined,
): readonly string[] {
  if (role !== 'system') return [];
  const isPlaced = before?.role === 'user' && (next === undefined || next.role === 'assistant');
  return [
    ...faultIf(!isPlaced, `${at}: a system message is not between a user and an answer`),
    ...faultIf(!blocks.every(({ type }) => type === 'text'), `${at}: not only text`),
  ];
}

/**
 * Checks tool results. They must answer each call of the previous message once, and must be at the start of
 * their message.
 */
function resultFaults(
  { blocks, at }: Message,
  before: Message | undefined,
  rules: AnthropicRules,
): readonly string[] {
  const results = idsOf(blocks, 'tool_result', 'tool_use_id');
  if (results.length === 0) return [];
  const calls = before?.role === 'assistant' ? idsOf(before.blocks, 'tool_use', 'id') : [];
  const last = blocks.findLastIndex(({ type }) => type === 'tool_result');
  const isAfter = blocks.slice(last + 1).some(({ type }) => type === 'text');
  return [
    ...results
      .filter((id) => !calls.includes(id))
      .map((id) => `${at}: answers ${id}, which was not called right before`),
    ...repeated(results).map((id) => `${at}: answers ${id} twice`),
    ...faultIf(last !== results.length - 1, `${at}: results do not come first`),
    ...faultIf(rules.refusesTextAfterResults === true && isAfter, `${at}: text after results`),
  ];
}

function answerFaults({ blocks, at, role }: Message, next: Message | undefined): readonly string[] {
  const calls = role === 'assistant' ? idsOf(blocks, 'tool_use', 'id') : [];
  const answered = next === undefined ? [] : idsOf(next.blocks, 'tool_result', 'tool_use_id');
  return calls
    .filter((id) => !answered.includes(id))
    .map((id) => `${at}: the call ${id} is not answered right after it`);
}

/** Checks that the result of a hosted tool is in the same message as its call, and after it. */
function hostedFaults({ blocks, at }: Message): readonly string[] {
  const seen = new Set<string>();
  return blocks.flatMap(({ type, id, tool_use_id }) => {
    if (type === 'server_tool_use' || type === 'mcp_tool_use') seen.add(textOf(id));
    if (type === 'tool_result' || !textOf(type).endsWith('_tool_result')) return [];
    const call = textOf(tool_use_id);
    return faultIf(!seen.has(call), `${at}: ${textOf(type)} without the call ${call}`);
  });
}

/**
 * Checks an assistant message at the end of the conversation. Older models continue it, so it must not end
 * with whitespace. Newer models reject it, except while a tool of the provider runs.
 */
function endFaults(last: Message | undefined, { takesPrefill }: ModelRules): readonly string[] {
  if (last?.role !== 'assistant') return [];
  const { type, text } = last.blocks.at(-1) ?? {};
  const isTrailing = type === 'text' && /\s$/.test(textOf(text));
  const isPaused = type !== 'tool_use' && textOf(type).endsWith('_tool_use');
  return [
    ...faultIf(isTrailing, `${last.at}: the final text ends with whitespace`),
    ...faultIf(!takesPrefill && !isPaused, `${last.at}: the conversation ends with the assistant`),
  ];
}

const ofAssistants = new Set(['thinking', 'redacted_thinking', 'tool_use', 'server_tool_use']);
const ofUsers = new Set(['tool_result', 'image', 'document']);

function anthropicBlockFaults(
  blocks: readonly JsonObject[],
  role: string,
  at: string,
  rules: AnthropicRules,
): readonly string[] {
  const firstCall = blocks.findIndex(({ type }) => type === 'tool_use');
  return blocks.flatMap((block, index) => {
    const type = textOf(block['type']);
    const place = `${at}.content[${index}]`;
    const isStranger =
      (role === 'user' && ofAssistants.has(type)) || (role === 'assistant' && ofUsers.has(type));
    const isLate = firstCall >= 0 && index > firstCall && type.endsWith('thinking');
    return [
      ...faultIf(isStranger, `${place}: ${type} is not for ${role}s`),
      ...faultIf(isLate, `${place}: ${type} after a call`),
      ...ownFaults(block, type, place, rules),
    ];
  });
}

function ownFaults(
  block: JsonObject,
  type: string,
  at: string,
  rules: AnthropicRules,
): readonly string[] {
  switch (type) {
    case 'text':
      return faultIf(textOf(block['text']).trim() === '', `${at}.text: empty`);
    case 'thinking':
      return thinkingBlockFaults(block, at, rules);
    case 'redacted_thinking':
      return faultIf(!isNonEmptyText(block['data']), `${at}.data: missing`);
    case 'tool_use':
      return [
        ...idFaults(block['id'] === undefined ? '' : textOf(block['id']), `${at}.id`),
        ...faultIf(!isNonEmptyText(block['name']), `${at}.name: missing`),
        ...faultIf(!isObject(block['input']), `${at}.input: not an object`),
      ];
    case 'tool_result':
      return [
        ...idFaults(textOf(block['tool_use_id']), `${at}.tool_use_id`),
        ...resultContentFaults(block, at),
      ];
    case '':
      return [`${at}.type: missing`];
    default:
      return [];
  }
}

function idFaults(id: string, at: string): readonly string[] {
  return faultIf(!/^[A-Za-z0-9_-]{1,64}$/.test(id), `${at}: not a valid id`);
}

function thinkingBlockFaults(
  block: JsonObject,
  at: string,
  rules: AnthropicRules,
): readonly string[] {
  const { thinking, signature } = block;
  const isKnown =
    rules.signed === undefined ||
    rules.signed.some((one) => one.signature === signature && one.on === thinking);
  return [
    ...faultIf(typeof thinking !== 'string', `${at}.thinking: missing`),
    ...faultIf(!isNonEmptyText(signature), `${at}.signature: missing`),
    ...faultIf(isNonEmptyText(signature) && !isKnown, `${at}: changed thinking`),
  ];
}

function resultContentFaults({ content }: JsonObject, at: string): readonly string[] {
  if (content === undefined || typeof content === 'string') return [];
  if (!isList(content)) return [`${at}.content: neither text nor blocks`];
  return objectsOf(content).flatMap(({ type, text }, index) =>
    faultIf(type === 'text' && !isNonEmptyText(text), `${at}.content[${index}].text: empty`),
  );
}
