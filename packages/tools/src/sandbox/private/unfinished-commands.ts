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
import { SandboxError } from '../../contract/sandbox.ts';
import type { EarlierKeys } from '../../git/repositories/earlier-keys.ts';
import type { WatchedName } from '../protected-paths.ts';
import { isLeft } from './first-process.ts';
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

/**
 * The ending of a note whose commands have ended without a complete check. Before it are the identities of the processes
 * that could not be stopped, see `FirstProcess.left`.
 */
const unchecked = '.unchecked';
const endOfUnchecked = /\.(?:([\d+-]+)\.)?unchecked$/;
/** Maximum number of identities in the name of a note, because the system limits the length of names. */
const maxLeft = 4;

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

/**
 * The notes of this process about unchecked commands that could not get their ending, for example on a full disk, and the
 * ending.
 */
const keptNotes = new Map<string, string>();

function keepNote(file: string, left: readonly string[] = []): void {
  const end = left.length === 0 ? unchecked : `.${left.slice(0, maxLeft).join('+')}${unchecked}`;
  try {
    renameSync(file, `${file}${end}`);
  } catch {
    keptNotes.set(file, end);
  }
}

/** The processes of earlier commands that this process could not stop, for each workspace. */
const leftProcesses = new Map<string, readonly string[]>();

/** Throws a `SandboxError` if one of these processes still exists, because it could change the workspace at any time. */
function assertGone(root: string, left: readonly string[]): void {
  if (!left.some(isLeft)) return;
  const message = `Cannot run the command in the sandbox: processes of an earlier command in ${root} could not be stopped, and they still run. Nothing was run. Try again when they have ended`;
  throw new SandboxError('cannot_confine', message, { path: root });
}

function writeNote(folder: string, note: Note): string {
  const notes = join(folder, notesFolder);
  if (!existsSync(notes)) mkdirSync(notes, { mode: 0o700 });
  const file = join(notes, `${hash('sha256', note.root)}.${randomUUID()}`);
  writeFileSync(file, JSON.stringify(note), { mode: 0o600, flag: 'wx' });
  return file;
}

type ForgetNames = (isRestored?: boolean, left?: readonly string[]) => void;

/** For each note about names, the function that `noteNames` returned. */
const openNames = new Set<ForgetNames>();

/**
 * Notes the names that a command must not create. Call the returned function without arguments if the command did not
 * start. Call it with arguments when the names have been checked. If `isRestored` is false, some names could not be
 * restored. If `left` contains identities of first processes, they can still create names. In both cases, the next command
 * checks the names again. Throws a `SandboxError` if processes of an earlier command are left in the workspace.
 */
export function noteNames(folder: string, root: string, names: GuardedNames): ForgetNames {
  assertGone(root, leftProcesses.get(root) ?? []);
  leftProcesses.delete(root);
  const file = writeNote(folder, { root, names });
  const forget: ForgetNames = (isRestored = true, left = []) => {
    openNames.delete(forget);
    if (left.length > 0) leftProcesses.set(root, [...(leftProcesses.get(root) ?? []), ...left]);
    try {
      if (isRestored && left.length === 0) rmSync(file, { force: true });
      else keepNote(file, left);
    } catch {
      // The note stays. The next process checks the names again.
    }
  };
  openNames.add(forget);
  return forget;
}

/**
 * Removes or keeps all notes about names, see `noteNames`. Call it at the end of this process, after it has checked the
 * names.
 */
export function forgetNames(isRestored: boolean, left: readonly string[]): void {
  for (const forget of [...openNames]) forget(isRestored, left);
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
 * run do not count. Throws a `SandboxError` if processes of an earlier command are left in the workspace.
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
  for (const { file } of notes) {
    const [, left] = endOfUnchecked.exec(keptNotes.get(file) ?? file) ?? [];
    assertGone(root, left?.split('+') ?? []);
  }
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
