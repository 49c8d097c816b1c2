import { useEffect, useRef } from 'react';

/**
 * Calls when a key is pressed, such as `alt+y` or `?`; once, however long it is held. A field keeps its
 * keys to itself, but for the one where one says something: it hears those that type nothing.
 * Whoever returns false leaves the key to others.
 */
export function useKey(key: string, run: () => unknown): void {
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    const [name = '', ...mods] = key.split('+').toReversed();
    const onKeyDown = (event: KeyboardEvent) => {
      if (!isPressed(event, name) || event.defaultPrevented || event.isComposing) return;
      if (event.repeat) return;
      if (event.altKey !== mods.includes('alt')) return;
      if ((event.ctrlKey || event.metaKey) !== mods.includes('ctrl')) return;
      // A dialog keeps its keys to itself.
      if (document.querySelector('dialog[open]') !== null) return;
      if (isKept(event, mods.length === 0 && name !== 'escape')) return;
      if (latest.current() !== false) event.preventDefault();
    };
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, [key]);
}

/** Where a letter lies counts only where the keyboard says none: Option+Y is `¥` on a Mac. */
function isPressed({ key, code }: KeyboardEvent, name: string): boolean {
  if (key.toLowerCase() === name) return true;
  return code.toLowerCase() === `key${name}` && !/^[a-z]$/i.test(key);
}

const inputs = 'input:not([type=checkbox], [type=radio], [type=range], [type=button])';
const fields = `${inputs}, textarea, select, [contenteditable]`;

/** The field that has the focus has a use for it. */
function isKept({ target, key, altKey }: KeyboardEvent, isPlain: boolean): boolean {
  const field = (target as Partial<Element> | null)?.closest?.(fields);
  if (field == null) return false;
  const isTyped = isPlain || (altKey && !/^[a-z]$/i.test(key));
  return isTyped || field.closest('.composer') === null;
}
