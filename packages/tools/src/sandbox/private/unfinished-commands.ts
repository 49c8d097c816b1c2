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
import type { WatchedName } from '../protected-paths.ts';
import { isAbandoned, isPrivate, notesFolder } from './private-folder.ts';

// A process can end without a check of its commands: it can be killed, or run out of memory. A check can also be
// incomplete. The next check must not accept what these commands created. Each process therefore notes the workspaces of
// its running commands, with everything that existed before, in its private folder. Commands cannot see this folder.

interface Note {
  readonly root: string;
  /** The things that existed before the commands, see `EarlierKeys`. Only in a note about repositories. */
  readonly seen?: readonly string[] | undefined;
  /** Only in a note about the names of one command. */
  readonly names?: GuardedNames | undefined;
}

/** The ending of a note whose commands have ended without a complete check. */
const unchecked = '.unchecked';

/** The names that a running command must not create or replace. */
export interface GuardedNames {
  readonly watched: readonly WatchedName[];
  /** The protected names that were in the workspace before. Undefined if the command may create protected names. */
  readonly known: readonly string[] | undefined;
}

/** A note that commands run in a workspace. */
export interface RunningNote {
  /** Removes the note. Call it when everything that the commands created has been checked. */
  forget(): void;
  /** Keeps the note for the next check in any process, because the check was not complete. */
  keep(): void;
}

/** Notes that commands run in a workspace. */
export function noteRunning(folder: string, root: string, seen: EarlierKeys): RunningNote {
  const file = writeNote(folder, { root, seen: [...seen] });
  return {
    forget: () => rmSync(file, { force: true }),
    keep: () => keepNote(file),
  };
}

/** The notes of this process about unchecked commands that could not get their ending, for example on a full disk. */
const keptNotes = new Set<string>();

function keepNote(file: string): void {
  try {
    renameSync(file, `${file}${unchecked}`);
  } catch {
    keptNotes.add(file);
  }
}

function writeNote(folder: string, note: Note): string {
  const notes = join(folder, notesFolder);
  if (!existsSync(notes)) mkdirSync(notes, { mode: 0o700 });
  const file = join(notes, `${hash('sha256', note.root)}.${randomUUID()}`);
  writeFileSync(file, JSON.stringify(note), { mode: 0o600, flag: 'wx' });
  return file;
}

/** For each note about names, a function that removes it. */
const openNames = new Set<() => void>();

/**
 * Notes the names that a command must not create. Call the returned function when they have been checked. If its
 * argument is false, some names could not be restored, and the next command checks them again.
 */
export function noteNames(
  folder: string,
  root: string,
  names: GuardedNames,
): (isRestored?: boolean) => void {
  const file = writeNote(folder, { root, names });
  const forget = (isRestored = true) => {
    openNames.delete(forget);
    if (isRestored) rmSync(file, { force: true });
    else keepNote(file);
  };
  openNames.add(forget);
  return forget;
}

/** Removes all notes about names. Call it at the end of this process, after it has checked the names. */
export function forgetNames(): void {
  for (const forget of [...openNames]) forget();
}

/** The notes about commands that nobody has checked completely. */
export interface UnfinishedCommands {
  /** For each note about repositories, the things that existed before its commands. */
  readonly seen: readonly EarlierKeys[];
  /** The names that these commands must not have created. */
  readonly names: readonly GuardedNames[];
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
      .map((file) => join(home, notesFolder, file))
      .filter((file) => isOver || file.endsWith(unchecked) || keptNotes.has(file))
      .flatMap((file) => readNote(file, root) ?? []);
  });
  return {
    seen: notes.flatMap(({ seen }) => (seen === undefined ? [] : new Set(seen))),
    names: notes.flatMap(({ names }) => names ?? []),
    forget: () => {
      for (const { file } of notes) {
        rmSync(file, { force: true });
        keptNotes.delete(file);
      }
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

function readNote(file: string, root: string): (Note & { readonly file: string }) | undefined {
  try {
    const note = JSON.parse(readFileSync(file, 'utf8')) as Note;
    return note.root === root ? { ...note, file } : undefined;
  } catch {
    return undefined;
  }
}
