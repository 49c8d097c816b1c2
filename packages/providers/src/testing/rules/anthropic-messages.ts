import type { JsonObject } from '@millrace/core';
import { textOf } from '../oracle/json-access.ts';
import type { AnthropicRules } from './anthropic.ts';
import { anthropicBlockFaults } from './anthropic-blocks.ts';
import { isList, objectsOf, repeated, when } from './document.ts';

interface Message {
  readonly role: string;
  readonly blocks: readonly JsonObject[];
  readonly at: string;
}

export function anthropicMessageFaults(
  given: readonly JsonObject[],
  rules: AnthropicRules,
): readonly string[] {
  const messages = given.map(({ role, content }, index) => ({
    role: textOf(role),
    blocks: objectsOf(isList(content) ? content : [{ type: 'text', text: content ?? '' }]),
    at: `messages[${index}]`,
  }));
  const ids = messages.flatMap(({ blocks }) => idsOf(blocks, 'tool_use', 'id'));
  return [
    ...when(messages.length === 0, 'messages: none'),
    ...messages.flatMap((message, index) => [
      ...roleFaults(message, messages[index - 1]),
      ...when(message.blocks.length === 0, `${message.at}.content: empty`),
      ...anthropicBlockFaults(message.blocks, message.role, message.at, rules),
      ...resultFaults(message, messages[index - 1], rules),
      ...answerFaults(message, messages[index + 1]),
      ...hostedFaults(message),
    ]),
    ...repeated(ids).map((id) => `messages: the call ${id} twice`),
    ...endFaults(messages.at(-1)),
  ];
}

function idsOf(blocks: readonly JsonObject[], type: string, name: string): readonly string[] {
  return blocks.filter((block) => block['type'] === type).map((block) => textOf(block[name]));
}

function roleFaults({ role, at }: Message, before: Message | undefined): readonly string[] {
  if (role !== 'user' && role !== 'assistant') return [`${at}.role: ${role || 'missing'}`];
  if (before === undefined) return when(role !== 'user', `${at}.role: must begin with a user`);
  return when(role === before.role, `${at}.role: ${role} twice in a row`);
}

/** Results answer the calls of the message right before, each once, and come first. */
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
    ...when(last !== results.length - 1, `${at}: results do not come first`),
    ...when(rules.refusesTextAfterResults === true && isAfter, `${at}: text after results`),
  ];
}

function answerFaults({ blocks, at, role }: Message, next: Message | undefined): readonly string[] {
  const calls = role === 'assistant' ? idsOf(blocks, 'tool_use', 'id') : [];
  const answered = next === undefined ? [] : idsOf(next.blocks, 'tool_result', 'tool_use_id');
  return calls
    .filter((id) => !answered.includes(id))
    .map((id) => `${at}: the call ${id} is not answered right after it`);
}

/** The result of a hosted tool stands in the same message, after its call. */
function hostedFaults({ blocks, at }: Message): readonly string[] {
  const seen = new Set<string>();
  return blocks.flatMap(({ type, id, tool_use_id }) => {
    if (type === 'server_tool_use' || type === 'mcp_tool_use') seen.add(textOf(id));
    if (type === 'tool_result' || !textOf(type).endsWith('_tool_result')) return [];
    const call = textOf(tool_use_id);
    return when(!seen.has(call), `${at}: ${textOf(type)} without the call ${call}`);
  });
}

/** A last word of the assistant is to be continued, and must not end with a space. */
function endFaults(last: Message | undefined): readonly string[] {
  if (last?.role !== 'assistant') return [];
  const { type, text } = last.blocks.at(-1) ?? {};
  const isTrailing = type === 'text' && /\s$/.test(textOf(text));
  return when(isTrailing, `${last.at}: the final text ends with whitespace`);
}
