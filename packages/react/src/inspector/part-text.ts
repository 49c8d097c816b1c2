import type { Part } from '@millrace/core';

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
export function partTitle(part: Part): string {
  switch (part.kind) {
    case 'text':
      return 'Text';
    case 'reasoning':
      return 'Reasoning';
    case 'tool_call':
      return `Call of ${part.name}`;
    case 'tool_result':
      return part.isError ? `Error of ${part.name}` : `Result of ${part.name}`;
    case 'structured':
      return 'Data';
    case 'media':
      return 'Media';
    case 'file':
      return 'File';
    case 'custom':
      return part.name;
  }
}
