import type { TextPart } from '@millrace/core';

/**
 * Half a surrogate pair in a request is refused by most providers. What has state of its provider may
 * be signed, and is never touched.
 */
export function wellFormed(part: TextPart): TextPart {
  if (part.providerState !== undefined || part.text.isWellFormed()) return part;
  return { ...part, text: part.text.toWellFormed() };
}
