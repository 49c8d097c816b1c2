import type { Entry } from '../state/entry.ts';
import { isOver, type ToolCard } from '../state/tool-card.ts';

export interface Crowded {
  readonly shown: readonly Entry[];
  /** What stands for the others: a line, or none. */
  readonly folded: readonly string[];
}

/** So many calls that do nothing now are shown. */
const maxIdle = 3;

/** Where there are many calls, those that wait, or are over and not printed yet, are counted. */
export function crowded(entries: readonly Entry[]): Crowded {
  const waiting = entries.filter((one) => one.kind === 'call' && isWaiting(one.card));
  const over = entries.filter((one) => one.kind === 'call' && isOver(one.card));
  if (waiting.length + over.length <= maxIdle) return { shown: entries, folded: [] };
  const hidden = new Set([...waiting, ...over]);
  const counted = [
    ...(over.length > 0 ? [`${over.length} done`] : []),
    ...(waiting.length > 0 ? [`${waiting.length} wait`] : []),
  ];
  const shown = entries.filter((one) => !hidden.has(one));
  return { shown, folded: [`+ ${counted.join(', ')}`] };
}

function isWaiting({ phase }: ToolCard): boolean {
  return phase === 'ready' || phase === 'asking';
}
