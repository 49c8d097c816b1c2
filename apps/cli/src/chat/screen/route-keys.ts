import { keysForPrompt } from '../../input/answer/answer-guard.ts';
import type { Key } from '../../input/keys/key.ts';
import type { KeyRead } from '../../input/keys/key-reader.ts';
import type { ChatApp } from '../chat-app.ts';
import type { DialogController } from '../dialog/dialog-controller.ts';

type KeyDialogs = Pick<DialogController, 'list' | 'sideInput' | 'read'>;

interface KeyTargets {
  /** Handles a key in the prompt. `isAlone` is false if the key arrived together with others. */
  readonly prompt: (key: Key, isAlone: boolean) => void;
  readonly side: (key: Key) => void;
  /** Runs the command that an extension has bound to this key. Returns false if there is no such command. */
  readonly command: (key: Key) => boolean;
  /** True if the prompt contains a slash command. Enter then sends it, and does not answer the dialog. */
  readonly hasCommand: () => boolean;
}

/**
 * Sends keys that arrived together to the prompt, to the dialog, or to its text field. A key can
 * open or close a dialog. So the target of each key is determined when it is handled, and not from
 * the last drawing.
 */
export function routeKeys(
  { press, dialogs }: Pick<ChatApp, 'press'> & { readonly dialogs: KeyDialogs },
  { keys, isAlone }: KeyRead,
  targets: KeyTargets,
): void {
  // A key of an extension counts only alone, because a paste can contain the bytes of a key.
  const isCommand = (key: Key) => isAlone && dialogs.list === undefined && targets.command(key);
  const left = keys.filter((key) => !press(key) && !isCommand(key));
  const prompt = (key: Key) => targets.prompt(key, isAlone);
  if (dialogs.list === undefined) return left.forEach(prompt);
  if (dialogs.sideInput === undefined) {
    const isEnter =
      left.length > 0 && left.every((key) => key.type === 'key' && key.name === 'enter');
    if (isEnter && targets.hasCommand()) return left.forEach(prompt);
    const read = { keys: left, isAlone: isAlone && left.length === keys.length };
    return dialogs.read(read).forEach(prompt);
  }
  for (const [index, key] of left.entries()) {
    // If a key closed the text field, the keys after it go to the prompt.
    if (dialogs.sideInput === undefined) return keysForPrompt(left.slice(index)).forEach(prompt);
    targets.side(key);
  }
}
