import type { TextPart } from '@millrace/core';

/** Half a surrogate pair in a request is refused by most providers. What is signed is never touched. */
export function wellFormed(part: TextPart): TextPart {
  return part.text.isWellFormed() ? part : { ...part, text: part.text.toWellFormed() };
}
