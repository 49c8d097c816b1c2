import type { JsonObject } from '@millrace/core';
import { fieldsOf, textOf } from '../oracle/json-access.ts';
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
import { responseInputFaults } from './responses-input.ts';

/** Each way in which a request body breaks the rules of Responses; none if it is right. */
export function responsesFaults(body: unknown): readonly string[] {
  const request = requestOf(body);
  const isStateless = request['store'] === false;
  return [
    ...documentFaults(body),
    ...when(!isFilled(request['model']), 'model: missing'),
    ...when(request['stream'] !== true, 'stream: not true'),
    ...foreignFaults(request),
    ...when(isStateless && !includesReasoning(request), 'include: no reasoning.encrypted_content'),
    ...toolFaults(request),
    ...formatFaults(request),
    ...responseInputFaults(objectsOf(request['input']), isStateless),
  ];
}

/** Words of the other API. */
function foreignFaults(request: JsonObject): readonly string[] {
  const names = ['messages', 'max_tokens', 'max_completion_tokens', 'response_format'];
  return [...names, 'reasoning_effort', 'stream_options']
    .filter((name) => request[name] !== undefined)
    .map((name) => `${name}: of Chat Completions`);
}

/** Without it, a model that reasons gives nothing to send back. */
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
      ...when(!isFilled(tool['type']), `tools[${index}].type: missing`),
      ...when(tool['function'] !== undefined, `tools[${index}].function: tools are flat here`),
    ]),
    ...functions.flatMap(({ name, parameters, function: nested }, index) =>
      nested === undefined
        ? [
            ...when(!isFilled(name), `tools: function ${index} has no name`),
            ...when(!isPlain(parameters), `tools: function ${index} has no parameters`),
          ]
        : [],
    ),
    ...repeated(names).map((name) => `tools: ${name} twice`),
  ];
}

function formatFaults(request: JsonObject): readonly string[] {
  const { type, name, schema } = fieldsOf(fieldsOf(request['text'])['format']);
  if (type !== 'json_schema') return [];
  return [
    ...when(!isFilled(name), 'text.format.name: missing'),
    ...when(!isPlain(schema), 'text.format.schema: missing'),
  ];
}
