import type { Part } from '@millrace/core';
import type { Labels } from '../labels/labels.ts';

/** Returns the content of a part as readable text. */
export function partText(part: Part): string {
  switch (part.kind) {
    case 'text':
    case 'reasoning':
    case 'tool_result':
      return part.text;
    case 'tool_call':
      return part.arguments;
    case 'structured':
    case 'custom':
      return JSON.stringify(part.value, null, 2);
    case 'media':
      return part.mimeType;
    case 'file':
      return `${part.name}, ${part.mimeType}`;
  }
}

/** Returns a readable title for the kind of a part. */
export function partTitle(part: Part, t: Labels): string {
  switch (part.kind) {
    case 'text':
      return t.text;
    case 'reasoning':
      return t.reasoning;
    case 'tool_call':
      return t.callOf(part.name);
    case 'tool_result':
      return part.isError ? t.errorOf(part.name) : t.resultOf(part.name);
    case 'structured':
      return t.data;
    case 'media':
      return t.media;
    case 'file':
      return t.file;
    case 'custom':
      return part.name;
  }
}
