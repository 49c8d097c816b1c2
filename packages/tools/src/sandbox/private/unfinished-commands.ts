import { hash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { FoundRepository } from '../../git/repositories/repository-search.ts';
import { isAbandoned, notesFolder } from './private-folder.ts';

// A process can end without a check of its commands: it can be killed, or run out of memory. The next process must not
// accept the repositories that these commands created. Each process therefore notes the workspaces of its running
// commands, with their repositories, in its private folder. Commands cannot see this folder.

interface Note {
  readonly root: string;
  readonly known: readonly FoundRepository[];
}

/** Notes that commands run in a workspace. The returned function removes the note. */
export function noteRunning(folder: string, note: Note): () => void {
  const notes = join(folder, notesFolder);
  if (!existsSync(notes)) mkdirSync(notes, { mode: 0o700 });
  const file = join(notes, nameOf(note.root));
  writeFileSync(file, JSON.stringify(note), { mode: 0o600 });
  return () => rmSync(file, { force: true });
}

/** The notes that processes left behind. */
export interface UnfinishedCommands {
  /** True if a repository existed before the commands. */
  wasKnown(repository: FoundRepository): boolean;
  /** Removes the notes. Call it when the new repositories have been checked. */
  forget(): void;
}

/**
 * Returns the notes about a workspace that ended processes left behind beside a private folder. Returns undefined if
 * there are none.
 */
export function findUnfinished(
  folder: string,
  prefix: string,
  root: string,
): UnfinishedCommands | undefined {
  const place = dirname(folder);
  const names = readdirSync(place).filter(
    (name) => name.startsWith(prefix) && name !== basename(folder),
  );
  const notes = names.flatMap((name) => {
    const file = join(place, name, notesFolder, nameOf(root));
    const note = readNote(file, root);
    return note !== undefined && isAbandoned(join(place, name)) ? [{ file, note }] : [];
  });
  if (notes.length === 0) return undefined;
  return {
    wasKnown: (one) => notes.every(({ note }) => isOneOf(note.known, one)),
    forget: () => {
      for (const { file } of notes) rmSync(file, { force: true });
    },
  };
}

/** True if the list contains a repository in this folder, of the same kinds. */
export function isOneOf(
  all: readonly FoundRepository[],
  { folder, isBare, hasGit }: FoundRepository,
): boolean {
  return all.some(
    (one) => one.folder === folder && (one.isBare || !isBare) && (one.hasGit || !hasGit),
  );
}

function nameOf(root: string): string {
  return hash('sha256', root);
}

function readNote(file: string, root: string): Note | undefined {
  try {
    const note = JSON.parse(readFileSync(file, 'utf8')) as Note;
    return note.root === root && Array.isArray(note.known) ? note : undefined;
  } catch {
    return undefined;
  }
}
