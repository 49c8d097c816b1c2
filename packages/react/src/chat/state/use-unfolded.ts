import { useState } from 'react';
import type { ChatSource } from './chat-source.ts';

// Stores which parts the user has unfolded. Rows lose their own state, because they are unmounted
// during scrolling.
const chosen = new Map<string, boolean>();
const maxChosen = 5000;

/**
 * Returns whether a part is unfolded, and a function to change that. The initial value is kept
 * until the user changes it.
 */
export function useUnfolded(
  { id: task }: Pick<ChatSource, 'id'>,
  partId: string,
  byDefault: boolean,
): readonly [boolean, (isUnfolded: boolean) => void] {
  const key = `${task}/${partId}`;
  const [isUnfolded, setUnfolded] = useState(() => initialState(key, byDefault));
  const choose = (next: boolean) => {
    chosen.set(key, next);
    setUnfolded(next);
  };
  return [isUnfolded, choose];
}

function initialState(key: string, byDefault: boolean): boolean {
  const known = chosen.get(key);
  if (known !== undefined) return known;
  if (chosen.size >= maxChosen) chosen.clear();
  chosen.set(key, byDefault);
  return byDefault;
}
