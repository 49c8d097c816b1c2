import type { JsonObject } from '@millrace/core';
import type { SaidPart } from '../history/message.ts';
import { attachmentPart } from './attachments.ts';

/** Text, JSON, a picture or a document. */
export function saidPart(part: SaidPart): JsonObject {
  switch (part.kind) {
    case 'text':
      return { text: part.text };
    case 'structured':
      return { text: JSON.stringify(part.value) };
    case 'media':
    case 'file':
      return attachmentPart(part);
  }
}
