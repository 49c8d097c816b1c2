import { encodeTranscript, type JsonObject } from '@millrace/core';
import type { DescribedRequest } from './described-request.ts';
import type { ModelRequest } from './model-request.ts';

/** The request in our own words: what a provider is handed, where nobody knows what it makes of it. */
export function describePlainly({ items, ...rest }: ModelRequest): DescribedRequest {
  const told = JSON.parse(encodeTranscript(items)) as { readonly items: JsonObject[] };
  const asked = JSON.parse(JSON.stringify(rest)) as JsonObject;
  return { method: 'POST', body: { ...asked, items: told.items } };
}
