import { type RefObject, useCallback, useEffect, useRef, useState } from 'react';

interface KeyboardGuard {
  /** True while the user works in the frame. Then the frame gets pointer and keyboard. */
  readonly isInUse: boolean;
  /** Called when the user presses the frame. */
  readonly use: () => void;
}

/** A frame that takes the keyboard more often than this is closed. */
const maxThefts = 3;

/**
 * Guards the keyboard against a frame whose scripts are untrusted. Browsers let a frame take the focus at
 * any time, and it would then read what the user types for the page. So the frame gets the focus only
 * after the user has pressed it, and until the user returns to the page. If the frame takes the focus at
 * another time, the focus returns to where it was. `onThief` is called if the frame does this again and
 * again. If `isGuarded` is false, the frame has no untrusted scripts and is always in use.
 */
export function useKeyboardGuard(
  frame: RefObject<HTMLIFrameElement | null>,
  isGuarded: boolean,
  onThief: () => void,
): KeyboardGuard {
  const [isInUse, setInUse] = useState(!isGuarded);
  const thefts = useRef(0);
  useEffect(() => {
    if (!isGuarded) return;
    let last = document.activeElement;
    const leave = ({ target }: Event) => {
      if (target === frame.current) return;
      if (target instanceof HTMLElement) last = target;
      setInUse(false);
    };
    const giveBack = () => {
      if (isInUse || frame.current === null || document.activeElement !== frame.current) return;
      frame.current.blur();
      window.focus();
      if (last instanceof HTMLElement && last !== frame.current) last.focus();
      thefts.current += 1;
      if (thefts.current >= maxThefts) onThief();
    };
    let timer: ReturnType<typeof setTimeout> | undefined;
    // During the event, the browser still moves the focus, and would ignore another move.
    const onBlur = () => {
      clearTimeout(timer);
      timer = setTimeout(giveBack);
    };
    document.addEventListener('focusin', leave);
    document.addEventListener('pointerdown', leave);
    window.addEventListener('blur', onBlur);
    return () => {
      document.removeEventListener('focusin', leave);
      document.removeEventListener('pointerdown', leave);
      window.removeEventListener('blur', onBlur);
      clearTimeout(timer);
    };
  }, [frame, isGuarded, isInUse, onThief]);
  const use = useCallback(() => {
    setInUse(true);
    frame.current?.focus();
  }, [frame]);
  return { isInUse, use };
}
