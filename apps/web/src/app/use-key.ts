import { useEffect, useRef } from 'react';

/**
 * Calls when a key is pressed, such as `alt+y` or `?`. Plain letters are not heard where one types.
 * Whoever returns false leaves the key to others.
 */
export function useKey(key: string, run: () => unknown): void {
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    const [name = '', ...mods] = key.split('+').toReversed();
    const onKeyDown = (event: KeyboardEvent) => {
      const isPressed =
        event.key.toLowerCase() === name || event.code.toLowerCase() === `key${name}`;
      if (!isPressed || event.defaultPrevented || event.isComposing) return;
      if (event.altKey !== mods.includes('alt')) return;
      if ((event.ctrlKey || event.metaKey) !== mods.includes('ctrl')) return;
      // A dialog keeps its keys to itself.
      if (document.querySelector('dialog[open]') !== null) return;
      if (mods.length === 0 && name !== 'escape' && isTyping(event.target)) return;
      if (latest.current() !== false) event.preventDefault();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, [key]);
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}
