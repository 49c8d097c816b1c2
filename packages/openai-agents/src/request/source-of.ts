import { fromBase64, type Source } from '@millrace/core';
import { UserError } from '@openai/agents';

export interface Attached {
  readonly mimeType: string;
  readonly source: Source;
}

/** What the SDK writes as a text: a data URL, an address, or bare base64 of the type that is expected. */
export function sourceOf(given: string, mimeType: string): Attached {
  const [, type, data] = /^data:([^,;]*)[^,]*;base64,(.*)$/is.exec(given) ?? [];
  if (data !== undefined) return { mimeType: type || mimeType, source: bytesOf(data) };
  if (/^(https?|data):/i.test(given)) return { mimeType, source: { type: 'url', url: given } };
  return { mimeType, source: bytesOf(given) };
}

function bytesOf(base64: string): Source {
  const bytes = fromBase64(base64);
  if (bytes !== undefined) return { type: 'bytes', bytes };
  throw new UserError(
    `Cannot send an attachment of ${base64.length} characters: it is no data URL, no http address and no base64`,
  );
}

/** Files that were uploaded to OpenAI are there, and nowhere else. */
export function elsewhere(what: string): UserError {
  return new UserError(
    `Cannot send ${what} that is named by the id of an uploaded file: give its data or its address`,
  );
}
