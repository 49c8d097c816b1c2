import { useEffect, useRef } from 'react';

/**
 * Calls `run` when the user presses a key, such as `alt+y` or `?`. If the user holds the key, `run`
 * is called once. Keys that the user presses in a text field do not call `run`. The message field
 * is an exception: there, keys that type no character call `run`. If `run` returns false, other
 * listeners can handle the event.
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
      // While a dialog is open, only the dialog handles keys.
      if (document.querySelector('dialog[open]') !== null) return;
      if (isKept(event, mods.length === 0 && name !== 'escape')) return;
      if (latest.current() !== false) event.preventDefault();
    };
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, [key]);
}

/**
 * Returns true if the event is for the named key. On a Mac, Option+Y types `¥`. So if the event has
 * no letter, this function compares the position of the key on the keyboard.
 */
function isPressed({ key, code }: KeyboardEvent, name: string): boolean {
  if (key.toLowerCase() === name) return true;
  return code.toLowerCase() === `key${name}` && !/^[a-z]$/i.test(key);
}

const inputs = 'input:not([type=checkbox], [type=radio], [type=range], [type=button])';
const fields = `${inputs}, textarea, select, [contenteditable]`;

/** Returns true if the focused field uses the key itself. */
function isKept(event: KeyboardEvent, isPlain: boolean): boolean {
  const { key, altKey } = event;
  // Outside of a shadow root, the target is its host.
  const target = event.composedPath?.()[0] ?? event.target;
  const field = (target as Partial<Element> | null)?.closest?.(fields);
  if (field == null) return false;
  const isTyped = isPlain || (altKey && !/^[a-z]$/i.test(key));
  return isTyped || field.closest('.composer') === null;
}
