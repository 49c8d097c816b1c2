import type { JsonObject, JsonValue } from '@millrace/core';
import {
  type AnthropicRules,
  anthropicMessageFaults,
  type ModelRules,
} from './anthropic-messages.ts';
import {
  documentFaults,
  faultIf,
  fieldsOf,
  isList,
  isNonEmptyText,
  isObject,
  numberOf,
  objectsOf,
  repeated,
  requestOf,
  textOf,
} from './document.ts';
import { strictSchemaFaults } from './strict-schema.ts';

/**
 * Returns the places where a request body violates the rules of the Messages API. The list is empty for a
 * valid body.
 */
export function anthropicFaults(body: unknown, rules: AnthropicRules = {}): readonly string[] {
  const request = requestOf(body);
  const limit = request['max_tokens'];
  return [
    ...documentFaults(body),
    ...faultIf(!isNonEmptyText(request['model']), 'model: missing'),
    ...faultIf(!(Number.isInteger(limit) && numberOf(limit) > 0), 'max_tokens: missing'),
    ...systemFaults(request['system']),
    ...samplingFaults(request),
    ...thinkingFaults(request),
    ...cacheFaults(request),
    ...toolFaults(request),
    ...anthropicMessageFaults(
      objectsOf(request['messages']),
      rules,
      modelRules(textOf(request['model'])),
    ),
  ];
}

function modelRules(model: string): ModelRules {
  const [, major = '0', minor = '0'] = /^claude-[a-z]+-(\d)(?:-(\d))?\b/.exec(model) ?? [];
  return {
    takesSystemMessages: /^claude-opus-4-8\b/.test(model),
    takesPrefill: Number(major) < 4 || (major === '4' && Number(minor) < 6),
  };
}

function systemFaults(system: JsonValue | undefined): readonly string[] {
  if (system === undefined) return [];
  if (!isList(system)) return faultIf(!isNonEmptyText(system), 'system: empty');
  const isText = objectsOf(system).every(
    ({ type, text }) => type === 'text' && isNonEmptyText(text),
  );
  return faultIf(system.length === 0 || !isText, 'system: not texts');
}

function samplingFaults({ temperature, top_p, stop_sequences }: JsonObject): readonly string[] {
  const stops = isList(stop_sequences) ? stop_sequences : [];
  return [
    ...faultIf(temperature !== undefined && top_p !== undefined, 'top_p: beside temperature'),
    ...faultIf(
      stops.some((stop) => textOf(stop).trim() === ''),
      'stop_sequences: without visible characters',
    ),
  ];
}

/** The maximum number of cache points that the API accepts in one request. */
const maxCachePoints = 4;

/**
 * Checks the number and the order of the cache points. Points with a longer lifetime must come first. The
 * order of the fields is tools, system, messages.
 */
function cacheFaults({ tools, system, messages }: JsonObject): readonly string[] {
  const points = [tools, system, messages].flatMap((value) => cachePointsIn(value));
  const lives = points.map(({ ttl }) => textOf(ttl) || '5m');
  const firstShort = lives.indexOf('5m');
  return [
    ...faultIf(
      points.length > maxCachePoints,
      `cache_control: ${points.length} cache points, but at most ${maxCachePoints}`,
    ),
    ...faultIf(
      firstShort >= 0 && lives.lastIndexOf('1h') > firstShort,
      'cache_control: a point for 1h after one for 5m',
    ),
  ];
}

/** The fields in which cache points can be nested. Other nested values are user data and are not checked. */
const nestingFields = ['content', 'source'];

function cachePointsIn(value: JsonValue | undefined): readonly JsonObject[] {
  if (isList(value)) return value.flatMap((entry) => cachePointsIn(entry));
  if (!isObject(value)) return [];
  const own = value['cache_control'];
  return [
    ...nestingFields.flatMap((name) => cachePointsIn(value[name])),
    ...(isObject(own) ? [own] : []),
  ];
}

function thinkingFaults(request: JsonObject): readonly string[] {
  const { type, budget_tokens } = fieldsOf(request['thinking']);
  if (type === undefined || type === 'disabled') return [];
  const isOver = numberOf(request['max_tokens']) <= numberOf(budget_tokens);
  return [
    ...faultIf(
      type === 'enabled' && numberOf(budget_tokens) === 0,
      'thinking.budget_tokens: missing',
    ),
    ...faultIf(type === 'enabled' && isOver, 'max_tokens: not above the thinking budget'),
    ...['temperature', 'top_k']
      .filter((name) => request[name] !== undefined)
      .map((name) => `${name}: refused with thinking`),
    ...faultIf(
      isForced(request['tool_choice']),
      'tool_choice: a forced tool is refused with thinking',
    ),
    ...faultIf(
      type === 'enabled' && isContinuedWithoutThinking(objectsOf(request['messages'])),
      'messages: a turn that continues must start with thinking',
    ),
  ];
}

function isForced(choice: JsonValue | undefined): boolean {
  const { type } = fieldsOf(choice);
  return type === 'any' || type === 'tool';
}

/** Returns whether tool results continue an assistant turn that did not start with thinking. */
function isContinuedWithoutThinking(messages: readonly JsonObject[]): boolean {
  const turns = messages.filter(({ role }) => role !== 'system');
  const hasResults = ({ content }: JsonObject) =>
    objectsOf(content).some(({ type }) => type === 'tool_result');
  const start = turns.findLastIndex((turn) => turn['role'] === 'user' && !hasResults(turn));
  const answer = turns[start + 1];
  if (answer === undefined || answer === turns.at(-1)) return false;
  return !textOf(objectsOf(answer['content'])[0]?.['type']).endsWith('thinking');
}

const choices = new Set(['auto', 'any', 'tool', 'none']);

function outputFaults(config: JsonValue | undefined): readonly string[] {
  const { format } = fieldsOf(config);
  if (format === undefined) return [];
  const { schema } = fieldsOf(format);
  return strictSchemaFaults(schema, { allRequired: false }, 'output_config.format.schema');
}

function toolFaults(request: JsonObject): readonly string[] {
  const tools = objectsOf(request['tools']);
  const names = tools.map(({ name }) => textOf(name));
  const { type, name } = fieldsOf(request['tool_choice']);
  const isChosen = request['tool_choice'] !== undefined;
  return [
    ...tools.flatMap((tool, index) => [
      ...nameFaults(names[index] ?? '', `tools[${index}].name`),
      // Hosted tools have a type and no schema.
      ...faultIf(
        !isNonEmptyText(tool['type']) && !isObject(tool['input_schema']),
        `tools[${index}].input_schema: missing`,
      ),
    ]),
    ...tools.flatMap(({ strict, input_schema }, index) => {
      const at = `tools[${index}].input_schema`;
      return strict === true ? strictSchemaFaults(input_schema, { allRequired: false }, at) : [];
    }),
    ...outputFaults(request['output_config']),
    ...repeated(names).map((tool) => `tools: ${tool} twice`),
    ...faultIf(isChosen && !choices.has(textOf(type)), `tool_choice.type: ${textOf(type)}`),
    ...faultIf(isChosen && tools.length === 0, 'tool_choice: no tools'),
    ...faultIf(
      type === 'tool' && !names.includes(textOf(name)),
      `tool_choice.name: ${textOf(name)} is not a tool`,
    ),
  ];
}

function nameFaults(name: string, at: string): readonly string[] {
  if (name === '') return [`${at}: missing`];
  return faultIf(!/^[A-Za-z0-9_-]{1,128}$/.test(name), `${at}: ${name} is not a valid name`);
}
