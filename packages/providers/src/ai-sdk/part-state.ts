import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type ProviderState,
  parseJson,
  toBase64,
} from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import type { StateOwner } from '../history/sendable-parts.ts';

/** The owner of the state of parts, and the session of the request. */
export interface SessionOwner extends StateOwner {
  readonly session?: string | undefined;
}

/**
 * Converts a part's `providerMetadata` from the SDK to a state, which is sent back with the part. Returns
 * undefined if the metadata is empty.
 */
export function stateOf(owner: StateOwner, metadata: unknown): ProviderState | undefined {
  const data = toJsonValue(metadata);
  if (!isJsonObject(data) || Object.keys(data).length === 0) return undefined;
  return { provider: owner.provider, model: owner.model, data };
}

/**
 * Works like `stateOf`, for parts that only their provider can read. Such a part always gets a state, because
 * a part without a state is not sent back.
 */
export function ownStateOf(owner: StateOwner, metadata: unknown): ProviderState {
  const { provider, model } = owner;
  return stateOf(owner, metadata) ?? { provider, model, data: {} };
}

/**
 * Returns the `providerOptions` for a part that is sent back. They contain the part's original
 * `providerMetadata`.
 */
export function optionsOf(state: ProviderState | undefined): {
  readonly providerOptions?: Record<string, JsonObject>;
} {
  const entries = isJsonObject(state?.data) ? Object.entries(state.data) : [];
  const grouped = entries.flatMap(([key, group]) => (isJsonObject(group) ? [[key, group]] : []));
  return grouped.length === 0 ? {} : { providerOptions: Object.fromEntries(grouped) };
}

/**
 * Converts a value of a package to JSON. It removes undefined fields, and converts URLs and dates to strings
 * and bytes to base64. Returns undefined if the result is empty. Throws a `WireFault` for values that JSON
 * cannot represent.
 */
export function toJsonValue(value: unknown): JsonValue | undefined {
  const text = stringify(value);
  if (text === undefined) return undefined;
  const parsed = parseJson(text);
  if (parsed.ok) return parsed.value;
  throw fault('protocol_error', 'a part of the answer cannot be converted to JSON');
}

function stringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, (_, inner) =>
      inner instanceof Uint8Array ? toBase64(inner) : inner,
    );
  } catch {
    // The value is circular or contains a BigInt. An empty text is not valid JSON, so the caller throws.
    return '';
  }
}
