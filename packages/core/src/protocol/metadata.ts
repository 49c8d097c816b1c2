import type { JsonObject, JsonValue } from '../json/json-value.ts';

/** Free annotations. They travel with what they annotate and mean nothing to the fold. */
export type Metadata = JsonObject;

/**
 * What a provider wants back unchanged with the next request: signatures, encrypted reasoning, item
 * ids. Opaque to us, and of use to that provider and model only.
 */
export interface ProviderState {
  readonly provider: string;
  readonly model: string;
  readonly data: JsonValue;
}
