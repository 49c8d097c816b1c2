import { useEffect, useRef } from 'react';

/**
 * Calls `run` when the user presses a key, such as `alt+y` or `?`. A held key calls it once. While
 * a text field has the focus, its keys do not call `run`. The message field is an exception: keys
 * that type no character work there. If `run` returns false, the event is not consumed, and other
 * listeners can handle it.
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
      // While a dialog is open, the keys belong to the dialog.
      if (document.querySelector('dialog[open]') !== null) return;
      if (isKept(event, mods.length === 0 && name !== 'escape')) return;
      if (latest.current() !== false) event.preventDefault();
    };
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, [key]);
}

/**
 * Returns true if the key is pressed. The position of the key is compared only if the key produces
 * no letter, for example because Option+Y types `¥` on a Mac.
 */
function isPressed({ key, code }: KeyboardEvent, name: string): boolean {
  if (key.toLowerCase() === name) return true;
  return code.toLowerCase() === `key${name}` && !/^[a-z]$/i.test(key);
}

const inputs = 'input:not([type=checkbox], [type=radio], [type=range], [type=button])';
const fields = `${inputs}, textarea, select, [contenteditable]`;

/** Returns true if the focused field uses the key itself. */
function isKept({ target, key, altKey }: KeyboardEvent, isPlain: boolean): boolean {
  const field = (target as Partial<Element> | null)?.closest?.(fields);
  if (field == null) return false;
  const isTyped = isPlain || (altKey && !/^[a-z]$/i.test(key));
  return isTyped || field.closest('.composer') === null;
}
