import type { PartEnd } from './delta.ts';

type Given = { readonly [Field in keyof PartEnd]?: PartEnd[Field] | undefined };

/** The fields of an end that were given, by name: what else an object has must not become a delta's or an event's. */
export function partEnd(given: Given): PartEnd {
  const { partial, signature, providerState } = { ...given };
  return {
    ...(partial !== undefined && { partial }),
    ...(signature !== undefined && { signature }),
    ...(providerState !== undefined && { providerState }),
  };
}
