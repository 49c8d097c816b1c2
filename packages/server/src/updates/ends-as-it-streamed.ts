import type { Part } from '@millrace/core';
import { jsonType, objectIn } from './content-of-part.ts';
import type { MessagePlace } from './message-place.ts';

/**
 * Is the message what its deltas come to, for a client that joins them, and parses them where they are
 * JSON? Then a `done` is enough; else it is told in full.
 */
export function endsAsItStreamed({ slots }: MessagePlace): boolean {
  return slots.every(({ part }) => part !== undefined && isItsText(part));
}

function isItsText(part: Part): boolean {
  switch (part.kind) {
    case 'text':
      return part.mimeType !== jsonType || objectIn(part.text) !== undefined;
    case 'tool_call':
      return objectIn(part.arguments) !== undefined && part.partial === undefined;
    // An entry that stayed empty had no delta, and what may not be read has none.
    case 'reasoning':
      return part.text !== '' && part.form !== 'redacted';
    // Clients parse a result that looks like JSON, which need not be meant so.
    case 'tool_result':
    case 'structured':
    case 'custom':
    case 'media':
    case 'file':
      return false;
  }
}
