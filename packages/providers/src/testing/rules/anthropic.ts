import type { JsonObject, JsonValue } from '@millrace/core';
import type { Signed } from '../oracle/expected.ts';
import { fieldsOf, numberOf, textOf } from '../oracle/json-access.ts';
import { anthropicMessageFaults } from './anthropic-messages.ts';
import {
  documentFaults,
  isFilled,
  isList,
  isPlain,
  objectsOf,
  repeated,
  requestOf,
  when,
} from './document.ts';

export interface AnthropicRules {
  /** All thinking that the provider has ever sent: what goes back must be among it, unchanged. */
  readonly signed?: readonly Signed[];
  /** Text after tool results is allowed, but models tend to answer it with nothing. */
  readonly refusesTextAfterResults?: boolean;
}

/** Each way in which a request body breaks the rules of Messages; none if it is right. */
export function anthropicFaults(body: unknown, rules: AnthropicRules = {}): readonly string[] {
  const request = requestOf(body);
  const limit = request['max_tokens'];
  return [
    ...documentFaults(body),
    ...when(!isFilled(request['model']), 'model: missing'),
    ...when(request['stream'] !== true, 'stream: not true'),
    ...when(!(Number.isInteger(limit) && numberOf(limit) > 0), 'max_tokens: missing'),
    ...systemFaults(request['system']),
    ...thinkingFaults(request),
    ...toolFaults(request),
    ...anthropicMessageFaults(objectsOf(request['messages']), rules),
  ];
}

function systemFaults(system: JsonValue | undefined): readonly string[] {
  if (system === undefined) return [];
  if (!isList(system)) return when(!isFilled(system), 'system: empty');
  const isText = objectsOf(system).every(({ type, text }) => type === 'text' && isFilled(text));
  return when(system.length === 0 || !isText, 'system: not texts');
}

function thinkingFaults(request: JsonObject): readonly string[] {
  const { type, budget_tokens } = fieldsOf(request['thinking']);
  if (type === undefined || type === 'disabled') return [];
  const isOver = numberOf(request['max_tokens']) <= numberOf(budget_tokens);
  return [
    ...when(type === 'enabled' && numberOf(budget_tokens) === 0, 'thinking.budget_tokens: missing'),
    ...when(type === 'enabled' && isOver, 'max_tokens: not above the thinking budget'),
    ...['temperature', 'top_k']
      .filter((name) => request[name] !== undefined)
      .map((name) => `${name}: refused with thinking`),
  ];
}

const choices = new Set(['auto', 'any', 'tool', 'none']);

function toolFaults(request: JsonObject): readonly string[] {
  const tools = objectsOf(request['tools']);
  const names = tools.map(({ name }) => textOf(name));
  const { type, name } = fieldsOf(request['tool_choice']);
  const isChosen = request['tool_choice'] !== undefined;
  return [
    ...tools.flatMap((tool, index) => [
      ...when(names[index] === '', `tools[${index}].name: missing`),
      // Hosted tools have a type of their own and no schema.
      ...when(
        !isFilled(tool['type']) && !isPlain(tool['input_schema']),
        `tools[${index}].input_schema: missing`,
      ),
    ]),
    ...repeated(names).map((tool) => `tools: ${tool} twice`),
    ...when(isChosen && !choices.has(textOf(type)), `tool_choice.type: ${textOf(type)}`),
    ...when(isChosen && tools.length === 0, 'tool_choice: no tools'),
    ...when(
      type === 'tool' && !names.includes(textOf(name)),
      `tool_choice.name: ${textOf(name)} is not a tool`,
    ),
  ];
}
