import type { JsonObject, ProviderState } from '@millrace/core';
import type { Owner } from '../history/own-parts.ts';
import { isObject } from '../json/fields.ts';
import { asJson } from './as-json.ts';

/** The SDK's `providerMetadata` of a part, kept until the part is sent again. */
export function stateOf(owner: Owner, metadata: unknown): ProviderState | undefined {
  const data = asJson(metadata);
  if (!isObject(data) || Object.keys(data).length === 0) return undefined;
  return { provider: owner.provider, model: owner.model, data };
}

/** The same for what is private to its maker: without a state of its own it would never be sent again. */
export function ownStateOf(owner: Owner, metadata: unknown): ProviderState {
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
