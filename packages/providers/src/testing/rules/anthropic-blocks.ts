import type { JsonObject } from '@millrace/core';
import { textOf } from '../oracle/json-access.ts';
import type { AnthropicRules } from './anthropic.ts';
import { isFilled, isList, isPlain, objectsOf, when } from './document.ts';

const ofAssistants = new Set(['thinking', 'redacted_thinking', 'tool_use', 'server_tool_use']);
const ofUsers = new Set(['tool_result', 'image', 'document']);

export function anthropicBlockFaults(
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
      ...when(isStranger, `${place}: ${type} is not for ${role}s`),
      ...when(isLate, `${place}: ${type} after a call`),
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
      return when(textOf(block['text']).trim() === '', `${at}.text: empty`);
    case 'thinking':
      return thinkingFaults(block, at, rules);
    case 'redacted_thinking':
      return when(!isFilled(block['data']), `${at}.data: missing`);
    case 'tool_use':
      return [
        ...idFaults(block['id'] === undefined ? '' : textOf(block['id']), `${at}.id`),
        ...when(!isFilled(block['name']), `${at}.name: missing`),
        ...when(!isPlain(block['input']), `${at}.input: not an object`),
      ];
    case 'tool_result':
      return [
        ...idFaults(textOf(block['tool_use_id']), `${at}.tool_use_id`),
        ...contentFaults(block, at),
      ];
    case '':
      return [`${at}.type: missing`];
    default:
      return [];
  }
}

function idFaults(id: string, at: string): readonly string[] {
  return when(!/^[A-Za-z0-9_-]{1,64}$/.test(id), `${at}: not a valid id`);
}

function thinkingFaults(block: JsonObject, at: string, rules: AnthropicRules): readonly string[] {
  const { thinking, signature } = block;
  const isKnown =
    rules.signed === undefined ||
    rules.signed.some((one) => one.signature === signature && one.on === thinking);
  return [
    ...when(typeof thinking !== 'string', `${at}.thinking: missing`),
    ...when(!isFilled(signature), `${at}.signature: missing`),
    ...when(isFilled(signature) && !isKnown, `${at}: changed thinking`),
  ];
}

function contentFaults({ content }: JsonObject, at: string): readonly string[] {
  if (content === undefined || typeof content === 'string') return [];
  if (!isList(content)) return [`${at}.content: neither text nor blocks`];
  return objectsOf(content).flatMap(({ type, text }, index) =>
    when(type === 'text' && !isFilled(text), `${at}.content[${index}].text: empty`),
  );
}
