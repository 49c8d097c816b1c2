import type { Item } from '@millrace/core';

/** How often the same calls, with the same arguments, were made in the last answers that follow each other. */
export function repeats(items: readonly Item[]): number {
  let last: string | undefined;
  let count = 0;
  for (const item of items.toReversed()) {
    if (item.kind === 'user') return count;
    if (item.kind !== 'assistant') continue;
    const calls = item.parts.flatMap((part) =>
      part.kind === 'tool_call' ? [`${part.name} ${part.arguments}`] : [],
    );
    const said = calls.join('\n');
    if (calls.length === 0 || (last !== undefined && said !== last)) return count;
    last = said;
    count++;
  }
  return count;
}
