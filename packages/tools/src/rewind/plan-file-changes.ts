import { relative } from 'node:path';
import type { FileVersion } from '@millrace/core';
import { WorkspaceError } from '../contract/workspace-error.ts';
import { homeProtection } from '../permissions/home-protection.ts';
import { writeProtection } from '../permissions/protected-paths.ts';
import { obeyedNameOf } from '../permissions/repository-protection.ts';
import { foldName } from '../workspace/globs/folded-names.ts';
import { isBelow, lexicalPath } from '../workspace/match-path.ts';
import { hashFile } from '../workspace/open-file.ts';
import { maxStoredBytes, modeOf } from '../workspace/record-change.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { FileChangeOnLog } from './file-changes.ts';

/** The file changes that lead from one point of the history to a different point. */
export interface FilePlan {
  readonly steps: readonly FileStep[];
  /** The files that cannot be changed. If there is a conflict, `applyFilePlan` changes no file. */
  readonly conflicts: readonly FileConflict[];
}

/** The change of one file. */
export interface FileStep {
  /** The absolute path, without symbolic links. */
  readonly path: string;
  /** The current version of the file. Undefined if the file does not exist. */
  readonly from: FileVersion | undefined;
  /** The version after the step. Undefined if the step deletes the file. */
  readonly to: FileVersion | undefined;
}

/** The reason why a file cannot be changed. */
export interface FileConflict {
  readonly path: string;
  /**
   * `changed`: another person or program changed the file, and that change would be lost. `not_stored`: its
   * content is not on the log, because the file is large, holds a secret, or was redacted. `outside`: it is
   * outside of the workspace. `protected`: programs run it or use it as settings. `unreadable`: it cannot be
   * read now. `unknown`: a command may have changed it or files below it, and the log does not have the
   * changes.
   */
  readonly code: 'changed' | 'not_stored' | 'outside' | 'protected' | 'unreadable' | 'unknown';
  /** One sentence for people, without the path. */
  readonly message: string;
}

/** The changes to undo and to redo. Both lists are in the order of the log. */
export interface FileMove {
  /** Changes to undo. Default: none. */
  readonly undo?: readonly FileChangeOnLog[] | undefined;
  /** Changes to redo, after the changes in `undo`. Default: none. */
  readonly redo?: readonly FileChangeOnLog[] | undefined;
  /**
   * If true, the plan leaves files as they are if a command may have changed them and the log does not have
   * the changes. If false, the plan has a conflict for such files. Default: false.
   */
  readonly skipUnknown?: boolean | undefined;
  /**
   * The absolute paths of files that other programs execute, such as the scripts of hooks and MCP servers. The
   * plan never changes them. Default: none.
   */
  readonly executedFiles?: readonly string[] | undefined;
}

/**
 * Compares the files of the workspace with the changes on the log, and returns the required changes. It does
 * not change files itself. A file is included only if the log contains the file's current content. Content
 * that a different program or person wrote is therefore never overwritten.
 *
 * @example
 * const changes = await readFileChanges(log, session);
 * const undo = changes.filter(({ offset }) => offset > through);
 * const plan = await planFileChanges(workspace, { undo });
 */
export async function planFileChanges(
  workspace: Workspace,
  { undo = [], redo = [], skipUnknown = false, executedFiles = [] }: FileMove,
): Promise<FilePlan> {
  const executed = new Set(executedFiles.map(foldName));
  const isKnown = ({ isUnknown }: FileChangeOnLog) => !isUnknown;
  const undone = Map.groupBy(undo.filter(isKnown), ({ path }) => path);
  const redone = Map.groupBy(redo.filter(isKnown), ({ path }) => path);
  const steps: FileStep[] = [];
  const conflicts: FileConflict[] = skipUnknown ? [] : unknownChanges([...undo, ...redo]);
  for (const path of new Set([...undone.keys(), ...redone.keys()])) {
    const changes = { undo: undone.get(path) ?? [], redo: redone.get(path) ?? [] };
    const planned = await planFile(workspace, path, { ...changes, executed });
    if (planned === undefined) continue;
    if ('code' in planned) conflicts.push(planned);
    else steps.push(planned);
  }
  return { steps, conflicts };
}

/** Returns one conflict for each path with unknown changes. */
function unknownChanges(changes: readonly FileChangeOnLog[]): FileConflict[] {
  const paths = new Set(changes.filter(({ isUnknown }) => isUnknown).map(({ path }) => path));
  const message = 'A command may have changed it, and the log does not have the change.';
  return [...paths].map((path) => ({ path, code: 'unknown', message }));
}

/** The known changes of one file, and the files that other programs execute, as `foldName` returns them. */
interface KnownMove {
  readonly undo: readonly FileChangeOnLog[];
  readonly redo: readonly FileChangeOnLog[];
  readonly executed: ReadonlySet<string>;
}

async function planFile(
  workspace: Workspace,
  path: string,
  { undo, redo, executed }: KnownMove,
): Promise<FileStep | FileConflict | undefined> {
  const conflict = (code: FileConflict['code'], message: string) => ({ path, code, message });
  if (path === '') return conflict('not_stored', 'The message that changed it was redacted.');
  const inside = relative(workspace.root, path);
  if (!isBelow(workspace.root, path)) return conflict('outside', 'It is outside of this folder.');
  if (executed.has(foldName(path)) || isProtected(workspace.root, path, inside))
    return conflict('protected', 'Programs run it or use it as settings.');
  let from: FileVersion | undefined;
  try {
    from = await currentVersion(workspace, path);
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
    return conflict('unreadable', `It cannot be read: ${error.message}`);
  }
  const chain = [...undo.toReversed().map(reversed), ...redo];
  const to = chain.at(-1)?.after;
  const changesMode = chain.some(({ before, after }) => before?.mode !== after?.mode);
  if (isSame(from, to) && (!changesMode || from?.mode === to?.mode)) return undefined;
  const isKnown = chain.some(({ before, after }) => isSame(from, before) || isSame(from, after));
  if (!isKnown) return conflict('changed', 'Somebody else changed it since.');
  if (hasForeignContent([...undo, ...redo]))
    return conflict('changed', 'Somebody else changed it between the changes of the agent.');
  if (from?.isStored === false || to?.isStored === false || isUnstored(from, chain))
    return conflict(
      'not_stored',
      'Its content was not kept: it is large, or it can hold a secret.',
    );
  return { path, from, to };
}

/** Returns true for files that the tool `write` always has to ask about. */
function isProtected(root: string, path: string, inside: string): boolean {
  const protection = writeProtection(inside) ?? homeProtection(lexicalPath(root, inside), 'write');
  if (protection !== undefined) return true;
  return obeyedNameOf(root, path) !== undefined;
}

function reversed(change: FileChangeOnLog): FileChangeOnLog {
  return { ...change, before: change.after, after: change.before };
}

/**
 * Returns true if a change started from a content that comes from no earlier change. A change on the log may
 * not have happened, because its process may have crashed.
 */
function hasForeignContent(changes: readonly FileChangeOnLog[]): boolean {
  const known = new Set(changes.slice(0, 1).map(({ before }) => before?.hash));
  return changes.some(({ before, after }) => {
    const isForeign = !known.has(before?.hash);
    known.add(after?.hash);
    return isForeign;
  });
}

/** Returns true if the log does not contain the current content of the file. */
function isUnstored(from: FileVersion | undefined, chain: readonly FileChangeOnLog[]): boolean {
  if (from === undefined) return false;
  const versions = chain.flatMap(({ before, after }) => [before, after]);
  return !versions.some((version) => version?.isStored && isSame(version, from));
}

function isSame(a: FileVersion | undefined, b: FileVersion | undefined): boolean {
  return a?.hash === b?.hash;
}

/**
 * Returns the current version of a file. Returns undefined if the file does not exist. Recorded paths have no
 * symbolic links. If there is a link on the path now, it leads to a different file, and the function throws.
 */
export async function currentVersion(
  workspace: Workspace,
  path: string,
): Promise<FileVersion | undefined> {
  try {
    const file = await workspace.boundTo(path).open(path);
    try {
      const { sha256: hash, size: length } = await hashFile(file);
      return { hash, length, mode: modeOf(file), isStored: length <= maxStoredBytes };
    } finally {
      await file.handle.close();
    }
  } catch (error) {
    if (error instanceof WorkspaceError && error.code === 'not_found') return undefined;
    throw error;
  }
}
