import type { Item } from '@millrace/core';

export function textOf({ parts }: Item): string {
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
}
