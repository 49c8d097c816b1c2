import type { ItemKind, PartKind, Source } from '@millrace/core';
import type { DeclaredBuiltInTool } from '../contract/built-in-tool.ts';
import type { ModelRequest, ReasoningEffort } from '../contract/model-request.ts';
import { fault } from '../errors/wire-fault.ts';
import {
  bytes,
  type Check,
  json,
  jsonObject,
  listOf,
  name,
  number,
  object,
  oneOf,
  optional,
  text,
  variant,
  wholeNumber,
} from './check-shape.ts';

/**
 * Checks that a request matches its type. If not, it throws an `invalid_request` fault with the path of the
 * invalid value, for example `items[2].parts[0].text`. Without this check, an error would be ignored or cause
 * a TypeError in this package.
 */
export function checkRequest(given: ModelRequest): void {
  request(given, '');
}

/**
 * Throws if the request uses a feature that an API does not support. Otherwise the answer would not match the
 * request.
 */
export function refuseUnsupported(
  request: ModelRequest,
  api: string,
  names: readonly ('candidates' | 'logprobs')[],
): void {
  for (const name of names) {
    const isDefault = name === 'candidates' && request.candidates === 1;
    if (request[name] === undefined || isDefault) continue;
    const what = { candidates: 'only one answer', logprobs: 'no log probabilities' }[name];
    throw fault('invalid_request', `${api} has ${what}; leave ${name} out`);
  }
}

const source: Check = variant<Source['type']>('type', {
  bytes: object({ bytes }),
  blob: object({ hash: text }),
  url: object({ url: text }),
  provider_file: object({ provider: text, id: text }),
});

const attachments = {
  media: object({ mimeType: text, source }),
  file: object({ name: text, mimeType: text, source }),
};

/** The content of a part, which every provider can read. */
const content: Check = variant<PartKind>('kind', {
  text: object({ text }),
  reasoning: object({ text }),
  tool_call: object({ toolCallId: text, name: text, arguments: text }),
  tool_result: object({
    toolCallId: text,
    text,
    attachments: optional(listOf(variant('kind', attachments))),
  }),
  structured: object({ value: json }),
  ...attachments,
  custom: object({ name: text, value: json }),
});

const providerState: Check = object({ providerState: optional(jsonObject) });

const part: Check = (given, path) => {
  content(given, path);
  providerState(given, path);
};

const item: Check = object({
  id: name,
  kind: oneOf<ItemKind>([
    'system',
    'developer',
    'user',
    'assistant',
    'tool',
    'context',
    'notification',
  ]),
  parts: listOf(part),
});

const tool: Check = object({
  name,
  description: optional(text),
  inputSchema: jsonObject,
  answers: optional(
    oneOf<DeclaredBuiltInTool>([
      'openai.shell',
      'openai.local_shell',
      'openai.apply_patch',
      'openai.computer',
      'openai.tool_search',
    ]),
  ),
  providerOptions: optional(jsonObject),
});

const choice = oneOf(['auto', 'none', 'required']);
const namedChoice = object({ name });

const request: Check = object({
  items: listOf(item),
  tools: optional(listOf(tool)),
  toolChoice: optional((given, path) =>
    typeof given === 'string' ? choice(given, path) : namedChoice(given, path),
  ),
  reasoning: optional(oneOf<ReasoningEffort>(['none', 'minimal', 'low', 'medium', 'high', 'max'])),
  output: optional(object({ name: text, schema: jsonObject })),
  maxOutputTokens: optional(number),
  temperature: optional(number),
  topP: optional(number),
  candidates: optional(wholeNumber(1, 128)),
  logprobs: optional(wholeNumber(0, 20)),
  stopSequences: optional(listOf(text)),
  cache: optional(object({ upTo: listOf(text), key: optional(text) })),
  providerOptions: optional(jsonObject),
});
