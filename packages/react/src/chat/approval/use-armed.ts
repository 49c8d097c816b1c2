import { useEffect, useState } from 'react';

/**
 * The time for which a new card must be visible before its buttons work. The time is long enough to notice
 * the card, and longer than a double click.
 */
const pauseMs = 600;

/**
 * Events that restart the waiting time of a new card. Input during that time was not meant for the
 * card.
 */
const inputEvents = ['keydown', 'keyup', 'pointerup', 'pointercancel', 'visibilitychange'] as const;

/**
 * Returns true when the user may answer a new card. The card must have been visible for a moment
 * without any input. So the second click of a double click, or a held key, cannot answer a new card
 * by accident. The waiting time starts again when the window gets the focus. Otherwise a hostile website
 * could open a window above this window, and close its window between the two presses of a double click. The
 * waiting time also starts again when the focus returns from a frame. This page does not see clicks in a frame,
 * and the document in the frame could have moved the card under the pointer.
 */
export function useArmed(): boolean {
  const [isArmed, setArmed] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const cancelTimer = () => clearTimeout(timer);
    const restartTimer = () => {
      cancelTimer();
      if (isInUse()) timer = setTimeout(() => setArmed(true), pauseMs);
    };
    const disarm = () => {
      if (isInUse()) return;
      cancelTimer();
      setArmed(false);
    };
    const controller = new AbortController();
    const options = { capture: true, signal: controller.signal };
    window.addEventListener('blur', disarm, options);
    document.addEventListener('visibilitychange', disarm, options);
    if (!isArmed) {
      restartTimer();
      window.addEventListener('focus', restartTimer, options);
      for (const type of inputEvents) document.addEventListener(type, restartTimer, options);
      document.addEventListener('pointerdown', cancelTimer, options);
    }
    return () => {
      cancelTimer();
      controller.abort();
    };
  }, [isArmed]);
  return isArmed;
}

/** True if the user can see this window and uses the page itself, and not a frame of the page. */
function isInUse(): boolean {
  return document.visibilityState !== 'hidden' && document.hasFocus() && !isFrameFocused();
}

function isFrameFocused(): boolean {
  let focused = document.activeElement;
  while (focused?.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement;
  return focused?.localName === 'iframe';
}
