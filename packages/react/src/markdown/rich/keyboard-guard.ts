import { type RefObject, useCallback, useEffect, useRef, useState } from 'react';

interface KeyboardGuard {
  /**
   * True while the user works in the frame. Only then does the frame receive pointer and keyboard
   * events.
   */
  readonly isInUse: boolean;
  /** Call it when the user clicks or touches the frame. The frame can then have the focus. */
  readonly use: () => void;
}

/** If a frame takes the focus without permission this many times, `onThief` is called. */
const maxThefts = 3;

/**
 * Protects the keyboard from a frame with untrusted scripts. Browsers let a frame take the focus at
 * any time. The frame would then receive the text that the user types for the page. So the frame
 * may have the focus only after the user pressed it, and until the user returns to the page. If the
 * frame takes the focus at any other time, the focus moves back to the previous element. `onThief`
 * is called if the frame does this several times. If `isGuarded` is false, the frame has no
 * untrusted scripts and may always have the focus.
 */
export function useKeyboardGuard(
  frame: RefObject<HTMLIFrameElement | null>,
  isGuarded: boolean,
  onThief: () => void,
): KeyboardGuard {
  const [isInUse, setInUse] = useState(!isGuarded);
  const thefts = useRef(0);
  // The frame gets the focus before the effect runs again, so the effect reads the newest value.
  const isUsed = useRef(isInUse);
  useEffect(() => {
    if (!isGuarded) return;
    let last = document.activeElement;
    const leave = ({ target }: Event) => {
      if (target === frame.current) return;
      if (target instanceof HTMLElement) last = target;
      isUsed.current = false;
      setInUse(false);
    };
    const giveBack = () => {
      const { current } = frame;
      if (isUsed.current || current === null || document.activeElement !== current) return;
      current.blur();
      window.focus();
      if (last instanceof HTMLElement && last !== current) last.focus();
      thefts.current += 1;
      if (thefts.current >= maxThefts) onThief();
    };
    let timer: ReturnType<typeof setTimeout> | undefined;
    // During the blur event, the browser would ignore a change of the focus. So the focus moves
    // back after the event.
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
  }, [frame, isGuarded, onThief]);
  const use = useCallback(() => {
    isUsed.current = true;
    setInUse(true);
    frame.current?.focus();
  }, [frame]);
  return { isInUse, use };
}
