import type { JsonObject, Part, ProviderState } from '@millrace/core';
import type { StateOwner } from '../history/sendable-parts.ts';
import { isObject, objectsIn, textIn } from '../json/fields.ts';

/** What Gemini wants back on the same part. */
interface PartData {
  readonly thoughtSignature?: string | undefined;
  /** A picture or sound that belongs to the thoughts. */
  readonly thought?: true | undefined;
  /** The provider's own id of a call. */
  readonly id?: string | undefined;
  /** The parts that ours was put together from, where it cannot be told from their texts. */
  readonly parts?: readonly JsonObject[] | undefined;
}

/** Undefined where there is nothing to keep. */
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

/** The same, read back. */
export function partData({ providerState }: Part): PartData {
  const data = isObject(providerState?.data) ? providerState.data : undefined;
  const parts = objectsIn(data, 'parts');
  return {
    thoughtSignature: textIn(data, 'thoughtSignature'),
    thought: data?.['thought'] === true ? true : undefined,
    id: textIn(data, 'id'),
    parts: parts.length === 0 ? undefined : parts,
  };
}
