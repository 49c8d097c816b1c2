import { hash, randomUUID } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { EarlierKeys } from '../../git/repositories/earlier-keys.ts';
import { isAbandoned, isPrivate, notesFolder } from './private-folder.ts';

// A process can end without a check of its commands: it can be killed, or run out of memory. A check can also be
// incomplete. The next check must not accept what these commands created. Each process therefore notes the workspaces of
// its running commands, with everything that existed before, in its private folder. Commands cannot see this folder.

interface Note {
  readonly root: string;
  /** The things that existed before the commands, see `EarlierKeys`. */
  readonly seen: readonly string[];
}

/** The ending of a note whose commands have ended without a complete check. */
const unchecked = '.unchecked';

/** A note that commands run in a workspace. */
export interface RunningNote {
  /** Removes the note. Call it when everything that the commands created has been checked. */
  forget(): void;
  /** Keeps the note for the next check in any process, because the check was not complete. */
  keep(): void;
}

/** Notes that commands run in a workspace. */
export function noteRunning(folder: string, root: string, seen: EarlierKeys): RunningNote {
  const notes = join(folder, notesFolder);
  if (!existsSync(notes)) mkdirSync(notes, { mode: 0o700 });
  const file = join(notes, `${hash('sha256', root)}.${randomUUID()}`);
  const note: Note = { root, seen: [...seen] };
  writeFileSync(file, JSON.stringify(note), { mode: 0o600, flag: 'wx' });
  return {
    forget: () => rmSync(file, { force: true }),
    keep: () => renameSync(file, `${file}${unchecked}`),
  };
}

/** The notes about commands that nobody has checked completely. */
export interface UnfinishedCommands {
  /** For each note, the things that existed before its commands. */
  readonly seen: readonly EarlierKeys[];
  /** Removes the notes. Call it when the new things have been checked, or when another note continues these notes. */
  forget(): void;
}

/**
 * Returns the notes about a workspace in a private folder, and in the folders beside it. Notes about commands that still
 * run do not count.
 */
export function findUnfinished(folder: string, prefix: string, root: string): UnfinishedCommands {
  const place = dirname(folder);
  const start = `${hash('sha256', root)}.`;
  const notes = namesIn(place).flatMap((name) => {
    const home = join(place, name);
    if (!name.startsWith(prefix)) return [];
    const files = namesIn(join(home, notesFolder)).filter((file) => file.startsWith(start));
    if (files.length === 0 || !isPrivate(home)) return [];
    const isOver = isAbandoned(home);
    return files
      .filter((file) => isOver || file.endsWith(unchecked))
      .flatMap((file) => readNote(join(home, notesFolder, file), root) ?? []);
  });
  return {
    seen: notes.map(({ seen }) => seen),
    forget: () => {
      for (const { file } of notes) rmSync(file, { force: true });
    },
  };
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function readNote(
  file: string,
  root: string,
): { readonly file: string; readonly seen: EarlierKeys } | undefined {
  try {
    const note = JSON.parse(readFileSync(file, 'utf8')) as Note;
    return note.root === root ? { file, seen: new Set(note.seen) } : undefined;
  } catch {
    return undefined;
  }
}
