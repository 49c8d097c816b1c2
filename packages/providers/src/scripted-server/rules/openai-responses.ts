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
import { nameFaults } from './openai-chat.ts';
import { strictSchemaFaults } from './strict-schema.ts';

/** The settings in which compatible servers differ. */
export interface ResponsesRules {
  /** True if the server accepts ids of any form. Default: false. */
  readonly takesAnyIds?: boolean;
}

/**
 * Returns the places where a request body violates the rules of the Responses API. The list is empty for a
 * valid body.
 */
export function responsesFaults(body: unknown, rules: ResponsesRules = {}): readonly string[] {
  const request = requestOf(body);
  const isStateless = request['store'] === false;
  return [
    ...documentFaults(body),
    ...faultIf(!isNonEmptyText(request['model']), 'model: missing'),
    ...foreignFaults(request),
    ...faultIf(
      isStateless && !includesReasoning(request),
      'include: no reasoning.encrypted_content',
    ),
    ...toolFaults(request),
    ...formatFaults(request),
    ...inputFaults(request, isStateless),
    ...(rules.takesAnyIds === true ? [] : idPrefixFaults(objectsOf(request['input']))),
  ];
}

/** Returns a fault for each field that belongs to the Chat Completions API. */
function foreignFaults(request: JsonObject): readonly string[] {
  const names = ['messages', 'max_tokens', 'max_completion_tokens', 'response_format'];
  return [...names, 'reasoning_effort', 'stream_options']
    .filter((name) => request[name] !== undefined)
    .map((name) => `${name}: of Chat Completions`);
}

/**
 * Returns whether the request asks for encrypted reasoning. Without encrypted reasoning, a reasoning model
 * returns no state for the next request.
 */
function includesReasoning(request: JsonObject): boolean {
  const { include, reasoning } = request;
  if (reasoning === undefined) return true;
  return isList(include) && include.includes('reasoning.encrypted_content');
}

function toolFaults(request: JsonObject): readonly string[] {
  const tools = objectsOf(request['tools']);
  const functions = tools.filter(({ type }) => type === 'function');
  const names = functions.map(({ name }) => textOf(name));
  return [
    ...tools.flatMap((tool, index) => [
      ...faultIf(!isNonEmptyText(tool['type']), `tools[${index}].type: missing`),
      ...faultIf(tool['function'] !== undefined, `tools[${index}].function: tools are flat here`),
    ]),
    ...functions.flatMap(({ name, parameters, function: nested }, index) =>
      nested === undefined
        ? [
            ...nameFaults(textOf(name), `tools: the name of function ${index}`),
            ...faultIf(!isObject(parameters), `tools: function ${index} has no parameters`),
          ]
        : [],
    ),
    ...functions.flatMap(({ strict, parameters }, index) =>
      strict === true
        ? strictSchemaFaults(parameters, { allRequired: true }, `tools: function ${index}`)
        : [],
    ),
    ...repeated(names).map((name) => `tools: ${name} twice`),
  ];
}

function formatFaults(request: JsonObject): readonly string[] {
  const { type, name, schema, strict } = fieldsOf(fieldsOf(request['text'])['format']);
  if (type !== 'json_schema') return [];
  return [
    ...faultIf(!isNonEmptyText(name), 'text.format.name: missing'),
    ...faultIf(!isObject(schema), 'text.format.schema: missing'),
    ...(strict === true
      ? strictSchemaFaults(schema, { allRequired: true }, 'text.format.schema')
      : []),
  ];
}

type Kind = 'user' | 'assistant' | 'call' | 'output' | 'reasoning' | 'reference' | 'hosted';

const outputs = new Set([
  'function_call_output',
  'custom_tool_call_output',
  'shell_call_output',
  'local_shell_call_output',
  'apply_patch_call_output',
  'computer_call_output',
  'tool_search_output',
  'mcp_approval_response',
]);
const calls = new Set(['function_call', 'custom_tool_call']);
/** The fields that calls of built-in tools need, by the type of the call. */
const builtInCalls: Readonly<Record<string, readonly string[]>> = {
  shell_call: ['call_id', 'action'],
  local_shell_call: ['call_id', 'id', 'status', 'action'],
  apply_patch_call: ['call_id', 'status', 'operation'],
  computer_call: ['call_id', 'id', 'status', 'pending_safety_checks'],
  tool_search_call: ['arguments'],
  mcp_approval_request: ['id', 'name', 'arguments', 'server_label'],
};

/**
 * Checks the input, which is a text or a list of items. If the provider has stored the conversation, the
 * input may be missing.
 */
function inputFaults(request: JsonObject, isStateless: boolean): readonly string[] {
  const { input, previous_response_id, conversation, prompt } = request;
  const isContinued = isNonEmptyText(previous_response_id) || isPresent(conversation);
  if (isNonEmptyText(input) || (input === undefined && (isContinued || isPresent(prompt))))
    return [];
  return responseInputFaults(objectsOf(input), isStateless, isContinued);
}

const isPresent = (value: JsonValue | undefined) => value !== undefined && value !== null;

function responseInputFaults(
  items: readonly JsonObject[],
  isStateless: boolean,
  isContinued: boolean,
): readonly string[] {
  const ids = items.filter((item) => kindOf(item) === 'call').map(callId);
  return [
    ...faultIf(items.length === 0, 'input: none'),
    ...items.flatMap((item, index) => itemFaults(item, `input[${index}]`, isStateless)),
    ...repeated(ids.filter(Boolean)).map((id) => `input: the call ${id} twice`),
    ...repeated(items.map(({ id }) => textOf(id)).filter(Boolean)).map(
      (id) => `input: the item ${id} twice`,
    ),
    ...answerFaults(items, isContinued),
    ...followerFaults(items),
  ];
}

function kindOf(item: JsonObject): Kind {
  const { type, role } = item;
  if (type === undefined || type === 'message') return role === 'assistant' ? 'assistant' : 'user';
  if (type === 'reasoning') return 'reasoning';
  if (type === 'item_reference') return 'reference';
  if (type === 'tool_search_call' && item['execution'] !== 'client') return 'hosted';
  if (type === 'tool_search_output' && item['execution'] !== 'client') return 'hosted';
  if (calls.has(textOf(type)) || Object.hasOwn(builtInCalls, textOf(type))) return 'call';
  return outputs.has(textOf(type)) ? 'output' : 'hosted';
}

/** Returns the id that a call and its output have in common. */
function callId(item: JsonObject): string {
  switch (item['type']) {
    case 'mcp_approval_request':
    case 'local_shell_call_output':
      return textOf(item['id']);
    case 'mcp_approval_response':
      return textOf(item['approval_request_id']);
    default:
      return textOf(item['call_id']);
  }
}

/** The prefixes of the ids that the API creates. The API rejects ids with other prefixes. */
const idPrefixes: Readonly<Partial<Record<Kind, string>>> = {
  assistant: 'msg',
  reasoning: 'rs',
};

function idPrefixFaults(items: readonly JsonObject[]): readonly string[] {
  return items.flatMap((item, index) => {
    const prefix = item['type'] === 'function_call' ? 'fc' : idPrefixes[kindOf(item)];
    const { id } = item;
    if (prefix === undefined || id === undefined || textOf(id).startsWith(prefix)) return [];
    return [`input[${index}].id: must begin with ${prefix}`];
  });
}

/** The maximum length of a call id. */
const maxCallIdLength = 64;

function itemFaults(item: JsonObject, at: string, isStateless: boolean): readonly string[] {
  const isOpen = item['status'] === 'in_progress' || item['status'] === 'incomplete';
  return [
    ...faultIf(isOpen, `${at}.status: ${textOf(item['status'])}`),
    ...faultIf(
      callId(item).length > maxCallIdLength,
      `${at}.call_id: longer than ${maxCallIdLength}`,
    ),
    ...ownFaults(item, at, isStateless),
  ];
}

function ownFaults(item: JsonObject, at: string, isStateless: boolean): readonly string[] {
  const kind = kindOf(item);
  switch (kind) {
    case 'user':
    case 'assistant':
      return messageFaults(item, at);
    case 'call':
      return callFaults(item, at);
    case 'output':
      return [...faultIf(callId(item) === '', `${at}.call_id: missing`), ...resultFaults(item, at)];
    case 'reasoning':
      return reasoningFaults(item, at, isStateless);
    case 'reference':
      return [
        ...faultIf(isStateless, `${at}: a reference, but nothing is stored`),
        ...faultIf(
          textOf(item['id']).startsWith('fc'),
          `${at}: a call must be sent, not referred to`,
        ),
      ];
    case 'hosted':
      return faultIf(!isNonEmptyText(item['type']), `${at}.type: missing`);
  }
}

const roles = new Set(['user', 'system', 'developer', 'assistant']);
const inputTypes = new Set(['input_text', 'input_image', 'input_file']);
const outputTypes = new Set(['output_text', 'refusal']);

function messageFaults(item: JsonObject, at: string): readonly string[] {
  const { role, content } = item;
  if (!roles.has(textOf(role))) return [`${at}.role: ${textOf(role) || 'missing'}`];
  if (!isList(content)) return faultIf(!isNonEmptyText(content), `${at}.content: empty`);
  const types = role === 'assistant' ? outputTypes : inputTypes;
  return [
    ...faultIf(content.length === 0, `${at}.content: empty`),
    ...objectsOf(content).flatMap((part, index) =>
      partFaults(part, `${at}.content[${index}]`, types),
    ),
  ];
}

function partFaults(part: JsonObject, at: string, types: ReadonlySet<string>): readonly string[] {
  const type = textOf(part['type']);
  if (!types.has(type)) return [`${at}.type: ${type || 'missing'}`];
  if (type.endsWith('_text')) return faultIf(!isNonEmptyText(part['text']), `${at}.text: empty`);
  return faultIf(type === 'refusal' && !isNonEmptyText(part['refusal']), `${at}.refusal: empty`);
}

function callFaults(item: JsonObject, at: string): readonly string[] {
  const needed = builtInCalls[textOf(item['type'])];
  if (needed !== undefined)
    return needed.flatMap((name) => faultIf(item[name] === undefined, `${at}.${name}: missing`));
  const isText = item['type'] === 'custom_tool_call';
  return [
    ...faultIf(!isNonEmptyText(item['call_id']), `${at}.call_id: missing`),
    ...faultIf(!isNonEmptyText(item['name']), `${at}.name: missing`),
    ...faultIf(isText && typeof item['input'] !== 'string', `${at}.input: not text`),
    ...faultIf(
      !isText && !isObjectText(item['arguments']),
      `${at}.arguments: not the JSON of an object`,
    ),
  ];
}

function resultFaults(item: JsonObject, at: string): readonly string[] {
  const { output } = item;
  switch (item['type']) {
    case 'shell_call_output':
      return objectsOf(output).flatMap(({ stdout, stderr, outcome }, index) => [
        ...faultIf(typeof stdout !== 'string', `${at}.output[${index}].stdout: not text`),
        ...faultIf(typeof stderr !== 'string', `${at}.output[${index}].stderr: not text`),
        ...faultIf(!isObject(outcome), `${at}.output[${index}].outcome: missing`),
      ]);
    case 'apply_patch_call_output':
      return faultIf(
        !['completed', 'failed'].includes(textOf(item['status'])),
        `${at}.status: missing`,
      );
    case 'computer_call_output':
      return faultIf(
        fieldsOf(output)['type'] !== 'computer_screenshot',
        `${at}.output: no screenshot`,
      );
    case 'tool_search_output':
      return faultIf(!isList(item['tools']), `${at}.tools: missing`);
    case 'mcp_approval_response':
      return faultIf(typeof item['approve'] !== 'boolean', `${at}.approve: missing`);
    default:
      return outputFaults(output, `${at}.output`);
  }
}

function outputFaults(output: JsonValue | undefined, at: string): readonly string[] {
  if (typeof output === 'string') return [];
  if (!isList(output) || output.length === 0) return [`${at}: missing`];
  return objectsOf(output).flatMap((part, index) =>
    partFaults(part, `${at}[${index}]`, inputTypes),
  );
}

function reasoningFaults(item: JsonObject, at: string, isStateless: boolean): readonly string[] {
  const { summary, encrypted_content } = item;
  const isSummary =
    isList(summary) && summary.every((part) => isObject(part) && isNonEmptyText(part['text']));
  return [
    ...faultIf(!isSummary, `${at}.summary: not a list of texts`),
    ...faultIf(
      isStateless && !isNonEmptyText(encrypted_content),
      `${at}.encrypted_content: missing`,
    ),
  ];
}

/**
 * Checks that each call has exactly one answer before the next message. Other answers are faults, except
 * answers to calls of a stored conversation.
 */
function answerFaults(items: readonly JsonObject[], isContinued: boolean): readonly string[] {
  let open: readonly string[] = [];
  const faults: string[] = [];
  for (const [index, item] of items.entries()) {
    const kind = kindOf(item);
    const id = callId(item);
    if (kind === 'call') open = [...open, id];
    if (kind === 'user' || kind === 'assistant') {
      faults.push(
        ...open.map((call) => `input[${index}]: the call ${call} is not answered before it`),
      );
      open = [];
    }
    if (kind === 'output') {
      const isOrphan = id !== '' && !open.includes(id) && !isContinued;
      faults.push(...faultIf(isOrphan, `input[${index}]: answers ${id}, which is not open`));
      open = open.filter((call) => call !== id);
    }
  }
  return [...faults, ...open.map((call) => `input: the call ${call} is never answered`)];
}

/** Checks that reasoning is directly followed by the item that belongs to it. */
function followerFaults(items: readonly JsonObject[]): readonly string[] {
  return items.flatMap((item, index) => {
    if (kindOf(item) !== 'reasoning') return [];
    const next = items[index + 1];
    const isLed = next !== undefined && !['user', 'output'].includes(kindOf(next));
    return faultIf(!isLed, `input[${index}]: reasoning without what it led to`);
  });
}
