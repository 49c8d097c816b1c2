import type { JsonArray, JsonObject, JsonValue } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import { fault } from '../errors/wire-fault.ts';
import { namesOfProvider } from '../history/sendable-parts.ts';
import { isObject } from '../json/fields.ts';

/**
 * Returns the options of a request for one provider. They are addressed by its name, so that a
 * fallback of another provider does not get them.
 */
export function optionsFor(provider: string, { providerOptions }: ModelRequest): JsonObject {
  if (providerOptions === undefined) return {};
  const flat = Object.keys(providerOptions).find((name) => !isObject(providerOptions[name]));
  if (flat !== undefined) {
    const way = `put it under the provider's name, as in { anthropic: { ${flat}: … } }`;
    throw fault('invalid_request', `providerOptions.${flat} is not an object; ${way}`);
  }
  // Later options override earlier ones.
  return namesOfProvider(provider).reduce<JsonObject>((all, name) => {
    const own = Object.hasOwn(providerOptions, name) ? providerOptions[name] : undefined;
    return isObject(own) ? merge(all, own, '') : all;
  }, {});
}

/**
 * Adds the caller's options to a body. Objects are merged and lists are joined, so that options never
 * remove what the request needs. An option that would is refused.
 */
export function withProviderOptions(
  body: JsonObject,
  provider: string,
  request: ModelRequest,
): JsonObject {
  return merge(body, optionsFor(provider, request), '');
}

/** Fields that the request itself sets, and that the reader of the answer depends on. */
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
  if (isObject(ours) && isObject(given)) return merge(ours, given, at);
  if (Array.isArray(ours) && Array.isArray(given) && !fixed.has(at)) return joined(ours, given);
  const isScalar = !isObject(ours) && !Array.isArray(ours) && !isObject(given);
  if (isScalar && given !== null && !fixed.has(at) && !Array.isArray(given)) return given;
  const why = 'it would replace what the request sets itself; leave it out';
  throw fault('invalid_request', `providerOptions cannot set ${at}: ${why}`);
}

function joined(ours: JsonArray, given: JsonArray): JsonArray {
  const known = new Set(ours.map((one) => JSON.stringify(one)));
  return [...ours, ...given.filter((one) => !known.has(JSON.stringify(one)))];
}
