import type { ItemKind, PartKind, Source } from '@millrace/core';
import type { DeclaredBuiltInTool } from '../contract/built-in-tool.ts';
import type { ModelRequest, ReasoningEffort } from '../contract/model-request.ts';
import { fault } from '../errors/wire-fault.ts';
import {
  checkArray,
  checkJson,
  checkName,
  checkNumber,
  checkObject,
  checkOneOf,
  checkText,
  checkWhole,
  type Fields,
} from './check-shape.ts';

/**
 * Checks that a request matches its type. Otherwise throws an `invalid_request` fault with the
 * path, for example `items[2].parts[0].text`. Without this check, a mistake would be ignored or
 * cause a TypeError in this package.
 */
export function checkRequest(given: ModelRequest): void {
  const request = checkObject(given, 'the request');
  checkEach(request['items'], 'items', checkItem);
  ifGiven(request, 'tools', (tools) => checkEach(tools, 'tools', checkTool));
  ifGiven(request, 'toolChoice', checkChoice);
  ifGiven(request, 'reasoning', (effort) => checkOneOf(effort, 'reasoning', efforts));
  ifGiven(request, 'output', checkOutput);
  for (const name of ['maxOutputTokens', 'temperature', 'topP']) {
    ifGiven(request, name, checkNumber);
  }
  ifGiven(request, 'candidates', (count, path) => checkWhole(count, path, 1, 128));
  ifGiven(request, 'logprobs', (count, path) => checkWhole(count, path, 0, 20));
  ifGiven(request, 'stopSequences', (texts) => checkEach(texts, 'stopSequences', checkText));
  ifGiven(request, 'cache', checkCache);
  ifGiven(request, 'providerOptions', checkJsonObject);
}

/**
 * Throws if the request asks for a feature that an API does not have. Without the feature, the
 * answer would not be what the caller asked for.
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

const itemKinds: readonly ItemKind[] = [
  'system',
  'developer',
  'user',
  'assistant',
  'tool',
  'context',
  'notification',
];

const efforts: readonly ReasoningEffort[] = ['none', 'minimal', 'low', 'medium', 'high', 'max'];

function checkItem(given: unknown, path: string): void {
  const item = checkObject(given, path);
  checkName(item['id'], `${path}.id`);
  checkOneOf(item['kind'], `${path}.kind`, itemKinds);
  checkEach(item['parts'], `${path}.parts`, checkPart);
}

function checkTool(given: unknown, path: string): void {
  const tool = checkObject(given, path);
  checkName(tool['name'], `${path}.name`);
  ifGiven(tool, 'description', (text) => checkText(text, `${path}.description`));
  checkJsonObject(tool['inputSchema'], `${path}.inputSchema`);
  ifGiven(tool, 'answers', (name) => checkOneOf(name, `${path}.answers`, builtInTools));
  ifGiven(tool, 'providerOptions', (options) =>
    checkJsonObject(options, `${path}.providerOptions`),
  );
}

const builtInTools: readonly DeclaredBuiltInTool[] = [
  'openai.shell',
  'openai.local_shell',
  'openai.apply_patch',
  'openai.computer',
  'openai.tool_search',
];

function checkChoice(choice: unknown, path: string): void {
  if (typeof choice === 'string') checkOneOf(choice, path, ['auto', 'none', 'required']);
  else checkName(checkObject(choice, path)['name'], `${path}.name`);
}

function checkOutput(given: unknown, path: string): void {
  const output = checkObject(given, path);
  checkText(output['name'], `${path}.name`);
  checkJsonObject(output['schema'], `${path}.schema`);
}

function checkCache(given: unknown, path: string): void {
  const cache = checkObject(given, path);
  checkEach(cache['upTo'], `${path}.upTo`, checkText);
  ifGiven(cache, 'key', (key) => checkText(key, `${path}.key`));
}

function checkJsonObject(value: unknown, path: string): void {
  checkJson(checkObject(value, path), path);
}

function checkEach(
  values: unknown,
  path: string,
  check: (value: unknown, path: string) => void,
): void {
  for (const [index, value] of checkArray(values, path).entries()) {
    check(value, `${path}[${index}]`);
  }
}

function ifGiven(
  object: Fields,
  name: string,
  check: (value: unknown, path: string) => void,
): void {
  if (object[name] !== undefined) check(object[name], name);
}

type Check = (part: Fields, path: string) => void;

const checkTexts =
  (...names: readonly string[]): Check =>
  (part, path) => {
    for (const name of names) checkText(part[name], `${path}.${name}`);
  };

const partChecks: { readonly [Kind in PartKind]: Check } = {
  text: checkTexts('text'),
  reasoning: checkTexts('text'),
  tool_call: checkTexts('toolCallId', 'name', 'arguments'),
  tool_result: checkResult,
  structured: (part, path) => checkValue(part, path),
  media: checkSource,
  file: checkFile,
  custom: (part, path) => {
    checkText(part['name'], `${path}.name`);
    checkValue(part, path);
  },
};

const partKinds = Object.keys(partChecks) as readonly PartKind[];

/** Throws if no wire can read the part. */
function checkPart(given: unknown, path: string): void {
  const part = checkObject(given, path);
  partChecks[checkOneOf(part['kind'], `${path}.kind`, partKinds)](part, path);
  if (part['providerState'] === undefined) return;
  checkJson(checkObject(part['providerState'], `${path}.providerState`), `${path}.providerState`);
}

function checkValue(part: Fields, path: string): void {
  if (part['value'] === undefined) throw fault('invalid_request', `${path}.value is undefined`);
  checkJson(part['value'], `${path}.value`);
}

function checkResult(part: Fields, path: string): void {
  for (const name of ['toolCallId', 'text']) checkText(part[name], `${path}.${name}`);
  if (part['attachments'] === undefined) return;
  for (const [index, given] of checkArray(part['attachments'], `${path}.attachments`).entries()) {
    const attachmentPath = `${path}.attachments[${index}]`;
    const attachment = checkObject(given, attachmentPath);
    const kind = checkOneOf(attachment['kind'], `${attachmentPath}.kind`, ['media', 'file']);
    partChecks[kind](attachment, attachmentPath);
  }
}

function checkFile(part: Fields, path: string): void {
  checkText(part['name'], `${path}.name`);
  checkSource(part, path);
}

const sourceTypes: readonly Source['type'][] = ['bytes', 'blob', 'url', 'provider_file'];

function checkSource(part: Fields, path: string): void {
  checkText(part['mimeType'], `${path}.mimeType`);
  const source = checkObject(part['source'], `${path}.source`);
  switch (checkOneOf(source['type'], `${path}.source.type`, sourceTypes)) {
    case 'bytes':
      if (ArrayBuffer.isView(source['bytes'])) return;
      throw fault('invalid_request', `${path}.source.bytes is not a Uint8Array`);
    case 'blob':
      return checkText(source['hash'], `${path}.source.hash`);
    case 'url':
      return checkText(source['url'], `${path}.source.url`);
    case 'provider_file':
      checkText(source['provider'], `${path}.source.provider`);
      return checkText(source['id'], `${path}.source.id`);
  }
}
