import type { JsonObject, JsonValue } from '@millrace/core';
import {
  documentFaults,
  faultIf,
  fieldsOf,
  isList,
  isNonEmptyText,
  isObject,
  isObjectText,
  objectsOf,
  repeated,
  requestOf,
  textOf,
} from './document.ts';
import { strictSchemaFaults } from './strict-schema.ts';

/** The settings in which compatible servers differ. */
export interface ChatRules {
  /** The maximum length of a call id. Default: 40, which is OpenAI's limit. */
  readonly maxIdLength?: number;
  /** The pattern of call ids, for example /^[a-zA-Z0-9]{9}$/ for Mistral. Default: any. */
  readonly idPattern?: RegExp;
  /** True if the model is a reasoning model. Reasoning models reject sampling settings. */
  readonly isReasoningModel?: boolean;
  /** True if tool results must contain the name of their tool. */
  readonly needsToolName?: boolean;
  /** True if the field `tools` is required when the history has calls. The list may be empty. */
  readonly needsToolsWithCalls?: boolean;
  /** True if an assistant message is required between tool results and a user message. */
  readonly needsBridge?: boolean;
  /** True if every assistant message needs `reasoning_content`, which may be empty. */
  readonly needsReasoningContent?: boolean;
  /** True if the server rejects `content: null`. */
  readonly refusesNull?: boolean;
  /** True if the server rejects `stream_options`. */
  readonly refusesStreamOptions?: boolean;
}

/**
 * Returns the places where a request body violates the rules of Chat Completions. The list is empty for a
 * valid body.
 */
export function chatFaults(body: unknown, rules: ChatRules = {}): readonly string[] {
  const request = requestOf(body);
  return [
    ...documentFaults(body),
    ...faultIf(!isNonEmptyText(request['model']), 'model: missing'),
    ...settingFaults(request, rules),
    ...toolFaults(request, rules),
    ...formatFaults(request),
    ...chatMessageFaults(objectsOf(request['messages']), rules),
  ];
}

/**
 * Returns whether a model is one of OpenAI's reasoning models. The name may start with `openai/`.
 */
export function isReasoningModel(model: string): boolean {
  return /^(?:openai\/)?(?:o[1-9]|gpt-5(?:-(?:mini|nano|pro|codex))?)(?:-\d{4}-\d{2}-\d{2})?$/.test(
    model,
  );
}

const sampling = ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'max_tokens'];

function settingFaults(request: JsonObject, rules: ChatRules): readonly string[] {
  const has = (name: string) => request[name] !== undefined;
  const refused = rules.isReasoningModel === true ? sampling.filter(has) : [];
  const isTwice = !rules.isReasoningModel && has('max_tokens') && has('max_completion_tokens');
  return [
    ...refused.map((name) => `${name}: refused by reasoning models`),
    ...faultIf(isTwice, 'max_tokens: beside max_completion_tokens'),
    ...faultIf(
      rules.refusesStreamOptions === true && has('stream_options'),
      'stream_options: refused by this server',
    ),
  ];
}

function outputFaults(format: JsonValue | undefined): readonly string[] {
  const { strict, schema } = fieldsOf(fieldsOf(format)['json_schema']);
  if (strict !== true) return [];
  return strictSchemaFaults(schema, { allRequired: true }, 'response_format.json_schema.schema');
}

function toolFaults(request: JsonObject, rules: ChatRules): readonly string[] {
  const tools = objectsOf(request['tools']);
  const names = tools.map((tool) => textOf(definitionOf(tool)['name']));
  const chosen = textOf(definitionOf(fieldsOf(request['tool_choice']))['name']);
  const hasCalls = objectsOf(request['messages']).some(
    ({ tool_calls }) => tool_calls !== undefined,
  );
  return [
    ...tools.flatMap((tool, index) => [
      ...faultIf(!isToolType(tool['type']), `tools[${index}].type: not function`),
      ...nameFaults(names[index] ?? '', `tools[${index}].function.name`),
      ...faultIf(
        tool['type'] !== 'custom' && !isObject(fieldsOf(tool['function'])['parameters']),
        `tools[${index}].function.parameters: not a schema`,
      ),
    ]),
    ...tools.flatMap((tool, index) => {
      const { strict, parameters } = fieldsOf(tool['function']);
      const at = `tools[${index}].function.parameters`;
      return strict === true ? strictSchemaFaults(parameters, { allRequired: true }, at) : [];
    }),
    ...outputFaults(request['response_format']),
    ...repeated(names).map((name) => `tools: ${name} twice`),
    ...faultIf(request['tool_choice'] !== undefined && tools.length === 0, 'tool_choice: no tools'),
    ...faultIf(chosen !== '' && !names.includes(chosen), `tool_choice: ${chosen} is not a tool`),
    ...faultIf(
      rules.needsToolsWithCalls === true && hasCalls && request['tools'] === undefined,
      'tools: missing while the history has calls',
    ),
  ];
}

/** Checks the form of a function name, by OpenAI's rule. */
export function nameFaults(name: string, at: string): readonly string[] {
  if (name === '') return [`${at}: missing`];
  return faultIf(!/^[A-Za-z0-9_-]{1,64}$/.test(name), `${at}: ${name} is not a valid name`);
}

/**
 * Returns whether the value is a valid tool type. A function has JSON arguments, and a custom tool has plain
 * text input.
 */
const isToolType = (type: JsonValue | undefined) => type === 'function' || type === 'custom';

/** Returns those fields of a tool, a call or a choice that depend on its type. */
function definitionOf(tool: JsonObject): JsonObject {
  return fieldsOf(tool['type'] === 'custom' ? tool['custom'] : tool['function']);
}

function formatFaults(request: JsonObject): readonly string[] {
  const format = fieldsOf(request['response_format']);
  if (format['type'] === 'json_object') {
    const isNamed = /json/i.test(JSON.stringify(request['messages'] ?? ''));
    return faultIf(!isNamed, 'messages: must contain the word json');
  }
  if (format['type'] !== 'json_schema') return [];
  const { name, schema } = fieldsOf(format['json_schema']);
  return [
    ...faultIf(!isNonEmptyText(name), 'response_format.json_schema.name: missing'),
    ...faultIf(!isObject(schema), 'response_format.json_schema.schema: missing'),
  ];
}

const roles = new Set(['system', 'developer', 'user', 'assistant', 'tool']);

function chatMessageFaults(messages: readonly JsonObject[], rules: ChatRules): readonly string[] {
  const ids = messages.flatMap(callIds);
  return [
    ...faultIf(messages.length === 0, 'messages: none'),
    ...messages.flatMap((message, index) => messageFaults(message, `messages[${index}]`, rules)),
    ...repeated(ids).map((id) => `messages: the call id ${id} twice`),
    ...answerFaults(messages),
    ...faultIf(rules.needsBridge === true && isWithoutBridge(messages), 'messages: no bridge'),
  ];
}

function callIds(message: JsonObject): readonly string[] {
  return objectsOf(message['tool_calls']).map(({ id }) => textOf(id));
}

function messageFaults(message: JsonObject, at: string, rules: ChatRules): readonly string[] {
  const role = textOf(message['role']);
  if (!roles.has(role)) return [`${at}.role: ${role || 'missing'}`];
  if (role === 'assistant') return assistantFaults(message, at, rules);
  return [
    ...faultIf(message['tool_calls'] !== undefined, `${at}.tool_calls: not an assistant's`),
    ...(role === 'tool'
      ? toolMessageFaults(message, at, rules)
      : contentFaults(message['content'], `${at}.content`, role === 'user')),
  ];
}

function contentFaults(
  content: JsonValue | undefined,
  at: string,
  allowsMedia: boolean,
): readonly string[] {
  if (!isList(content)) return faultIf(!isNonEmptyText(content), `${at}: empty`);
  return [
    ...faultIf(content.length === 0, `${at}: empty`),
    ...objectsOf(content).flatMap((part, index) => {
      const type = textOf(part['type']);
      if (type === 'text')
        return faultIf(!isNonEmptyText(part['text']), `${at}[${index}].text: empty`);
      if (!allowsMedia) return [`${at}[${index}].type: ${type} is for users only`];
      if (type !== 'image_url') {
        return faultIf(!['input_audio', 'file'].includes(type), `${at}[${index}].type: ${type}`);
      }
      return faultIf(
        !isNonEmptyText(fieldsOf(part['image_url'])['url']),
        `${at}[${index}].image_url: empty`,
      );
    }),
  ];
}

function toolMessageFaults(message: JsonObject, at: string, rules: ChatRules): readonly string[] {
  const { content, tool_call_id, name } = message;
  return [
    ...faultIf(!isNonEmptyText(tool_call_id), `${at}.tool_call_id: missing`),
    // A result may be empty, but it may not be missing.
    ...(content === '' ? [] : contentFaults(content, `${at}.content`, false)),
    ...faultIf(rules.needsToolName === true && !isNonEmptyText(name), `${at}.name: missing`),
  ];
}

function assistantFaults(message: JsonObject, at: string, rules: ChatRules): readonly string[] {
  const { content, tool_calls, reasoning_content } = message;
  const calls = objectsOf(tool_calls);
  const isText = content === undefined || content === null || typeof content === 'string';
  const isEmpty =
    !isNonEmptyText(content) && calls.length === 0 && message['refusal'] === undefined;
  return [
    ...faultIf(!isText, `${at}.content: not plain text`),
    ...faultIf(isText && isEmpty, `${at}: empty`),
    ...faultIf(rules.refusesNull === true && content === null, `${at}.content: null`),
    ...faultIf(
      rules.needsReasoningContent === true && typeof reasoning_content !== 'string',
      `${at}.reasoning_content: missing`,
    ),
    ...faultIf(tool_calls !== undefined && calls.length === 0, `${at}.tool_calls: empty`),
    ...calls.flatMap((call, index) => callFaults(call, `${at}.tool_calls[${index}]`, rules)),
  ];
}

function callFaults(call: JsonObject, at: string, rules: ChatRules): readonly string[] {
  const { maxIdLength = 40, idPattern = /./ } = rules;
  const id = textOf(call['id']);
  const { name, arguments: text } = definitionOf(call);
  const isCustom = call['type'] === 'custom';
  return [
    ...faultIf(id === '', `${at}.id: missing`),
    ...faultIf(id.length > maxIdLength, `${at}.id: longer than ${maxIdLength}`),
    ...faultIf(id !== '' && !idPattern.test(id), `${at}.id: not like ${idPattern.source}`),
    ...faultIf(!isToolType(call['type']), `${at}.type: not function`),
    ...faultIf(call['index'] !== undefined, `${at}.index: left over from a stream`),
    ...faultIf(!isNonEmptyText(name), `${at}.function.name: missing`),
    ...faultIf(
      !isCustom && !isObjectText(text),
      `${at}.function.arguments: not the JSON text of an object`,
    ),
  ];
}

/**
 * Checks that each call has exactly one answer in the messages directly after it, and that there are no
 * further answers.
 */
function answerFaults(messages: readonly JsonObject[]): readonly string[] {
  let open: readonly string[] = [];
  const faults: string[] = [];
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`;
    if (message['role'] !== 'tool') {
      faults.push(...open.map((id) => `${at}: the call ${id} is not answered before it`));
      open = callIds(message);
      continue;
    }
    const id = textOf(message['tool_call_id']);
    faults.push(
      ...faultIf(id !== '' && !open.includes(id), `${at}: answers ${id}, which is not open`),
    );
    open = open.filter((other) => other !== id);
  }
  return [...faults, ...open.map((id) => `messages: the call ${id} is never answered`)];
}

function isWithoutBridge(messages: readonly JsonObject[]): boolean {
  return messages.some(
    ({ role }, index) => role === 'user' && messages[index - 1]?.['role'] === 'tool',
  );
}
