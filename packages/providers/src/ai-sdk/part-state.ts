import {
  type JsonObject,
  type JsonValue,
  type ProviderState,
  parseJson,
  toBase64,
} from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import type { StateOwner } from '../history/sendable-parts.ts';
import { isObject } from '../json/fields.ts';

/** The SDK's `providerMetadata` of a part, kept until the part is sent again. */
export function stateOf(owner: StateOwner, metadata: unknown): ProviderState | undefined {
  const data = toJsonValue(metadata);
  if (!isObject(data) || Object.keys(data).length === 0) return undefined;
  return { provider: owner.provider, model: owner.model, data };
}

/** The same for what is private to its maker: without a state of its own it would never be sent again. */
export function ownStateOf(owner: StateOwner, metadata: unknown): ProviderState {
  const { provider, model } = owner;
  return stateOf(owner, metadata) ?? { provider, model, data: {} };
}

/** The `providerOptions` of a part that is sent again: what was its `providerMetadata`. */
export function optionsOf(state: ProviderState | undefined): {
  readonly providerOptions?: Record<string, JsonObject>;
} {
  const entries = isObject(state?.data) ? Object.entries(state.data) : [];
  const grouped = entries.flatMap(([key, group]) => (isObject(group) ? [[key, group]] : []));
  return grouped.length === 0 ? {} : { providerOptions: Object.fromEntries(grouped) };
}

/**
 * What a package handed over, as JSON: fields that are undefined go, addresses and dates become text,
 * bytes base64. Undefined where nothing is left. Throws a `WireFault` for what JSON cannot say.
 */
export function toJsonValue(value: unknown): JsonValue | undefined {
  const text = stringify(value);
  if (text === undefined) return undefined;
  const parsed = parseJson(text);
  if (parsed.ok) return parsed.value;
  throw fault('protocol_error', 'a part of the answer cannot be written as JSON');
}

function stringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, (_, inner) =>
      inner instanceof Uint8Array ? toBase64(inner) : inner,
    );
  } catch {
    // A circle, or a number without bound: what is returned is no JSON either.
    return '';
  }
}
