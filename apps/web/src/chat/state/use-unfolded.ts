import { useState } from 'react';
import type { ChatSource } from './chat-source.ts';

// Rows come and go with scrolling; what somebody unfolded stays so.
const chosen = new Map<string, boolean>();
const maxChosen = 5000;

/** Is a part unfolded? What streams when it is first seen is; it stays as it is until somebody says otherwise. */
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
