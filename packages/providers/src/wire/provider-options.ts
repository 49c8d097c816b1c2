import { isJsonObject, type JsonArray, type JsonObject, type JsonValue } from '@millrace/core';
import type { ModelRequest, ToolDefinition } from '../contract/model-request.ts';
import { fault } from '../errors/wire-fault.ts';

/**
 * Returns the options of a request for one provider. The options are stored under the provider's name, so a
 * fallback to a different provider does not get them.
 */
export function optionsFor(provider: string, { providerOptions }: ModelRequest): JsonObject {
  if (providerOptions === undefined) return {};
  const flat = Object.keys(providerOptions).find((name) => !isJsonObject(providerOptions[name]));
  if (flat !== undefined) {
    const way = `put it under the provider's name, as in { anthropic: { ${flat}: … } }`;
    throw fault('invalid_request', `providerOptions.${flat} is not an object; ${way}`);
  }
  return mergeFor(provider, {}, providerOptions, '');
}

/** Merges the caller's options for a provider into a field of the body. */
export function mergeFor(
  provider: string,
  field: JsonObject,
  options: Readonly<Record<string, JsonObject | undefined>> | undefined,
  path: string,
): JsonObject {
  if (options === undefined) return field;
  return namesOf(provider).reduce<JsonObject>((all, name) => {
    const own = Object.hasOwn(options, name) ? options[name] : undefined;
    return isJsonObject(own) ? merge(all, own, path) : all;
  }, field);
}

/**
 * Adds the caller's options to a body. Objects are merged and lists are joined, so options never remove data
 * that the request needs. If an option would remove such data, it is rejected.
 */
export function withProviderOptions(
  body: JsonObject,
  provider: string,
  request: ModelRequest,
): JsonObject {
  return merge(body, optionsFor(provider, request), '');
}

/**
 * Adds the options of an image or file to its content, by the same rules as `withProviderOptions`.
 */
export function withOptions(content: JsonObject, options: JsonObject | undefined): JsonObject {
  return options === undefined ? content : merge(content, options, 'content');
}

/** Adds the caller's options for a tool to its field, by the same rules as `withProviderOptions`. */
export function withToolOptions(
  field: JsonObject,
  { name, providerOptions }: ToolDefinition,
  provider: string,
): JsonObject {
  const merged = mergeFor(provider, field, providerOptions, `tools.${name}`);
  if (merged['name'] === field['name']) return merged;
  throw fault('invalid_request', `providerOptions cannot rename the tool ${name}; leave it out`);
}

/**
 * Returns the names under which options for a provider can be stored, from general to specific: `openai`,
 * `openai-responses`. Later options replace earlier ones. Claude on a cloud also gets the options for
 * `anthropic`, because the format is the same.
 */
function namesOf(provider: string): readonly string[] {
  const name = provider.replace(/@.*$/s, '');
  const family = name.replace(/-responses$/, '').replace(/^(anthropic)-(?:bedrock|vertex)$/, '$1');
  const vendor = name === 'gemini' || name === 'vertex' ? 'google' : family;
  return [...new Set([vendor, family, name, provider])];
}

/** The fields that the request itself sets. The code that reads the answer depends on them. */
const fixed = new Set([
  ...['model', 'messages', 'input', 'contents', 'stream', 'stream_options.include_usage'],
]);

function merge(ours: JsonObject, given: JsonObject, path: string): JsonObject {
  const merged = Object.entries(given).map(([name, value]) => {
    const at = path === '' ? name : `${path}.${name}`;
    return [name, mergeField(ours[name], value, at)] as const;
  });
  return { ...ours, ...Object.fromEntries(merged) };
}

function mergeField(ours: JsonValue | undefined, given: JsonValue, at: string): JsonValue {
  if (ours === undefined) return given;
  if (isJsonObject(ours) && isJsonObject(given)) return merge(ours, given, at);
  if (Array.isArray(ours) && Array.isArray(given) && !fixed.has(at)) return joined(ours, given);
  const isScalar = !isJsonObject(ours) && !Array.isArray(ours) && !isJsonObject(given);
  if (isScalar && given !== null && !fixed.has(at) && !Array.isArray(given)) return given;
  const why = 'it would replace what the request sets itself; leave it out';
  throw fault('invalid_request', `providerOptions cannot set ${at}: ${why}`);
}

function joined(ours: JsonArray, given: JsonArray): JsonArray {
  const known = new Set(ours.map((one) => JSON.stringify(one)));
  return [...ours, ...given.filter((one) => !known.has(JSON.stringify(one)))];
}
