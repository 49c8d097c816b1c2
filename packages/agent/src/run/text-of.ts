import type { Part } from '@millrace/core';

/** The text parts, joined. */
export function textOf(parts: readonly (Part | undefined)[]): string {
  return parts.map((part) => (part?.kind === 'text' ? part.text : '')).join('');
}
