import { storeClipboardPicture } from '../../input/attachments/clipboard-picture.ts';
import type { Command } from '../../input/completion/completion.ts';
import { mentionOf } from '../../input/completion/file-completions.ts';
import { maxWorkspaceFiles } from '../../input/completion/workspace-files.ts';
import type { Key } from '../../input/keys/key.ts';
import { keyId } from '../../input/prompt/press-key.ts';
import type { ChatApp } from '../chat-app.ts';
import { actsOutside, allCommands, isCommand } from '../commands/command-table.ts';
import { note } from '../contract/block.ts';

/** Runs the command of an extension that has this key. The text in the prompt is its argument. */
export function runKeyCommand(app: ChatApp, key: Key, typed: string): boolean {
  if (key.type !== 'chord') return false;
  const id = keyId(key);
  const found = allCommands(app).find((command) => command.key === id);
  if (found === undefined) return false;
  app.submit(found.argument === undefined ? found.name : `${found.name} ${typed}`);
  return true;
}

/** Ctrl-V puts the picture in the clipboard into the prompt, as a mention of a file. Returns false for other keys. */
export function pastesPicture(app: ChatApp, key: Key, insert: (text: string) => void): boolean {
  if (key.type !== 'chord' || keyId(key) !== 'ctrl+v') return false;
  const { env, cwd } = app;
  void storeClipboardPicture({ env, cwd, platform: process.platform }).then(
    (path) => insert(`${mentionOf(path)} `),
    (error: unknown) => app.print(note('bad', `✗ ${(error as Error).message}`)),
  );
  return true;
}

const warnedApps = new WeakSet<ChatApp>();

/** Prints once that `@` does not find all files. */
export function warnTooManyFiles(app: ChatApp): void {
  if (warnedApps.has(app)) return;
  warnedApps.add(app);
  const limit = maxWorkspaceFiles.toLocaleString('en');
  app.print(
    note('mark', `This folder has more than ${limit} files. @ finds only the first ${limit}.`),
  );
}

/** Returns true if a text is a command that runs only if the user typed it. For a text that is not visible, each is. */
export function needsOwnKeys(app: ChatApp, text: string, isFolded: boolean): boolean {
  const commands = allCommands(app);
  return isFolded ? isCommand(text, commands) : actsOutside(text, commands);
}

/** Returns the commands that the prompt completes. */
export function completableCommands(app: ChatApp): readonly Command[] {
  return allCommands(app).map(({ name, description, argument, choices, aliasOf }) => ({
    name,
    description,
    isAlias: aliasOf !== undefined,
    ...(choices !== undefined && { choices: () => choices(app) }),
    // If the argument of a command is optional, Enter sends the command immediately.
    takesText: argument !== undefined && !argument.startsWith('['),
  }));
}
