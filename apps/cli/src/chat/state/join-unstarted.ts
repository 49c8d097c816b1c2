import { note } from './block.ts';
import type { ChatState } from './chat-state.ts';
import type { Entry } from './entry.ts';

/** Of calls of a turn that were not run because all was to stop, one line for all of them is enough. */
export function joinUnstarted(state: ChatState, turn: number): ChatState {
  const isUnstarted = (entry: Entry) =>
    entry.kind === 'call' && entry.at.turn === turn && entry.card.phase === 'unstarted';
  const [first, ...others] = state.entries.filter(isUnstarted);
  if (first === undefined || others.length === 0) return state;
  const told = note('mark', `✗ ${others.length + 1} calls were not run`);
  const entries = state.entries.flatMap((entry): readonly Entry[] => {
    if (entry === first) return [{ kind: 'note', at: first.at, block: told }];
    return isUnstarted(entry) ? [] : [entry];
  });
  return { ...state, entries };
}
