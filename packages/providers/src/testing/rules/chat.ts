import type { JsonObject } from '@millrace/core';
import { fieldsOf, textOf } from '../oracle/json-access.ts';
import { chatMessageFaults } from './chat-messages.ts';
import {
  documentFaults,
  isFilled,
  isPlain,
  objectsOf,
  repeated,
  requestOf,
  when,
} from './document.ts';

/** Where compatible servers differ. */
export interface ChatRules {
  /** OpenAI's own is 40. */
  readonly maxIdLength?: number;
  /** For instance /^[a-zA-Z0-9]{9}$/ for Mistral. */
  readonly idPattern?: RegExp;
  /** Reasoning models refuse what steers sampling. */
  readonly isReasoningModel?: boolean;
  /** Tool results must name their tool. */
  readonly needsToolName?: boolean;
  /** `tools` must be there, if only empty, when the history has calls. */
  readonly needsToolsWithCalls?: boolean;
  /** An assistant must come between tool results and a user. */
  readonly needsBridge?: boolean;
  /** Every assistant message has `reasoning_content`, if only empty. */
  readonly needsReasoningContent?: boolean;
  /** `content: null` is refused. */
  readonly refusesNull?: boolean;
  /** `stream_options` is refused. */
  readonly refusesStreamOptions?: boolean;
}

/** Each way in which a request body breaks the rules of Chat Completions; none if it is right. */
export function chatFaults(body: unknown, rules: ChatRules = {}): readonly string[] {
  const request = requestOf(body);
  return [
    ...documentFaults(body),
    ...when(!isFilled(request['model']), 'model: missing'),
    ...when(request['stream'] !== true, 'stream: not true'),
    ...settingFaults(request, rules),
    ...toolFaults(request, rules),
    ...formatFaults(request),
    ...chatMessageFaults(objectsOf(request['messages']), rules),
  ];
}

const sampling = ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'max_tokens'];

function settingFaults(request: JsonObject, rules: ChatRules): readonly string[] {
  const has = (name: string) => request[name] !== undefined;
  const refused = rules.isReasoningModel === true ? sampling.filter(has) : [];
  const isTwice = !rules.isReasoningModel && has('max_tokens') && has('max_completion_tokens');
  return [
    ...refused.map((name) => `${name}: refused by reasoning models`),
    ...when(isTwice, 'max_tokens: beside max_completion_tokens'),
    ...when(
      rules.refusesStreamOptions === true && has('stream_options'),
      'stream_options: refused by this server',
    ),
  ];
}

function toolFaults(request: JsonObject, rules: ChatRules): readonly string[] {
  const tools = objectsOf(request['tools']);
  const names = tools.map((tool) => textOf(fieldsOf(tool['function'])['name']));
  const chosen = textOf(fieldsOf(fieldsOf(request['tool_choice'])['function'])['name']);
  const hasCalls = objectsOf(request['messages']).some(
    ({ tool_calls }) => tool_calls !== undefined,
  );
  return [
    ...tools.flatMap((tool, index) => [
      ...when(tool['type'] !== 'function', `tools[${index}].type: not function`),
      ...when(names[index] === '', `tools[${index}].function.name: missing`),
      ...when(
        !isPlain(fieldsOf(tool['function'])['parameters']),
        `tools[${index}].function.parameters: not a schema`,
      ),
    ]),
    ...repeated(names).map((name) => `tools: ${name} twice`),
    ...when(request['tool_choice'] !== undefined && tools.length === 0, 'tool_choice: no tools'),
    ...when(chosen !== '' && !names.includes(chosen), `tool_choice: ${chosen} is not a tool`),
    ...when(
      rules.needsToolsWithCalls === true && hasCalls && request['tools'] === undefined,
      'tools: missing while the history has calls',
    ),
  ];
}

function formatFaults(request: JsonObject): readonly string[] {
  const format = fieldsOf(request['response_format']);
  if (format['type'] !== 'json_schema') return [];
  const { name, schema } = fieldsOf(format['json_schema']);
  return [
    ...when(!isFilled(name), 'response_format.json_schema.name: missing'),
    ...when(!isPlain(schema), 'response_format.json_schema.schema: missing'),
  ];
}
