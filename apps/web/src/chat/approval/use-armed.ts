import { useEffect, useState } from 'react';

/** As long as it takes to see that there is something new, and longer than between two clicks. */
const pauseMs = 600;

/** What is pressed meanwhile was meant for something else. */
const presses = ['keydown', 'keyup', 'pointerup', 'pointercancel', 'visibilitychange'] as const;

/**
 * Whether what appeared may be answered: it was in sight for a moment in which nothing was pressed.
 * A second click, or a key that is held, so never answers what has just taken another's place.
 */
export function useArmed(): boolean {
  const [isArmed, setArmed] = useState(false);
  useEffect(() => {
    if (isArmed) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const hold = () => clearTimeout(timer);
    const wait = () => {
      hold();
      if (document.visibilityState !== 'hidden') timer = setTimeout(() => setArmed(true), pauseMs);
    };
    wait();
    const listening = new AbortController();
    const how = { capture: true, signal: listening.signal };
    for (const type of presses) document.addEventListener(type, wait, how);
    document.addEventListener('pointerdown', hold, how);
    return () => {
      hold();
      listening.abort();
    };
  }, [isArmed]);
  return isArmed;
}
