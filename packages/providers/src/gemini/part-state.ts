import { isJsonObject, type JsonObject, type Part, type ProviderState } from '@millrace/core';
import type { StateOwner } from '../history/sendable-parts.ts';
import { objectsIn, textIn } from '../json/fields.ts';

/** The data that Gemini must get back with a part. */
interface PartData {
  readonly thoughtSignature?: string | undefined;
  /** True for media that are part of the model's thoughts. */
  readonly thought?: true | undefined;
  /** The id that the provider gave to a call. */
  readonly id?: string | undefined;
  /** The provider's original parts, if several signed parts were joined into one part. */
  readonly parts?: readonly JsonObject[] | undefined;
}

/** Creates the state of a part. Returns undefined if there is no data to store. */
export function partState(
  { provider, model }: StateOwner,
  data: PartData,
): ProviderState | undefined {
  const { thoughtSignature, thought, id, parts } = data;
  const kept: JsonObject = {
    ...(thoughtSignature === undefined ? {} : { thoughtSignature }),
    ...(thought === undefined ? {} : { thought }),
    ...(id === undefined ? {} : { id }),
    ...(parts === undefined ? {} : { parts }),
  };
  return Object.keys(kept).length === 0 ? undefined : { provider, model, data: kept };
}

/** Reads the state of a part. */
export function partData({ providerState }: Part): PartData {
  const data = isJsonObject(providerState?.data) ? providerState.data : undefined;
  const parts = objectsIn(data, 'parts');
  return {
    thoughtSignature: textIn(data, 'thoughtSignature'),
    thought: data?.['thought'] === true ? true : undefined,
    id: textIn(data, 'id'),
    parts: parts.length === 0 ? undefined : parts,
  };
}
