import { relative } from 'node:path';
import type { FileVersion } from '@millrace/core';
import { WorkspaceError } from '../contract/workspace-error.ts';
import { writeProtection } from '../permissions/protected-paths.ts';
import { hashFile } from '../workspace/open-file.ts';
import { maxStoredBytes, modeOf } from '../workspace/record-change.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { FileChangeOnLog } from './file-changes.ts';

/** The files that have to change to get from one moment of the history to another. */
export interface FilePlan {
  readonly steps: readonly FileStep[];
  /** The files that cannot be changed. If there is one, `applyFilePlan` changes nothing. */
  readonly conflicts: readonly FileConflict[];
}

/** The change of one file. */
export interface FileStep {
  /** The absolute path, without symbolic links. */
  readonly path: string;
  /** The file now. Undefined if there is none. */
  readonly from: FileVersion | undefined;
  /** The file afterwards. Undefined if it will be deleted. */
  readonly to: FileVersion | undefined;
}

/** The reason why a file cannot be changed. */
export interface FileConflict {
  readonly path: string;
  /**
   * `changed`: somebody else changed the file, and that change would be lost. `not_stored`: its content is
   * not on the log, because the file is large, holds a secret, or was redacted. `outside`: it is outside of
   * the workspace. `protected`: programs run it or use it as settings. `unreadable`: it cannot be read now.
   */
  readonly code: 'changed' | 'not_stored' | 'outside' | 'protected' | 'unreadable';
  /** One sentence for people, without the path. */
  readonly message: string;
}

/** The changes to take back and to repeat. Both are in the order of the log. */
export interface FileMove {
  /** Changes to take back. Default: none. */
  readonly undo?: readonly FileChangeOnLog[] | undefined;
  /** Changes to make again, after the others were taken back. Default: none. */
  readonly redo?: readonly FileChangeOnLog[] | undefined;
}

/**
 * Compares the files of the workspace with the changes on the log, and returns what has to change. It
 * changes nothing itself. A file is changed only if its content now is one that the log has. So the content
 * that somebody else wrote is never overwritten.
 *
 * @example
 * const changes = await readFileChanges(log, session);
 * const undo = changes.filter(({ offset }) => offset > through);
 * const plan = await planFileChanges(workspace, { undo });
 */
export async function planFileChanges(
  workspace: Workspace,
  { undo = [], redo = [] }: FileMove,
): Promise<FilePlan> {
  const undone = Map.groupBy(undo, ({ path }) => path);
  const redone = Map.groupBy(redo, ({ path }) => path);
  const steps: FileStep[] = [];
  const conflicts: FileConflict[] = [];
  for (const path of new Set([...undone.keys(), ...redone.keys()])) {
    const planned = await planFile(workspace, path, undone.get(path) ?? [], redone.get(path) ?? []);
    if (planned === undefined) continue;
    if ('code' in planned) conflicts.push(planned);
    else steps.push(planned);
  }
  return { steps, conflicts };
}

async function planFile(
  workspace: Workspace,
  path: string,
  undo: readonly FileChangeOnLog[],
  redo: readonly FileChangeOnLog[],
): Promise<FileStep | FileConflict | undefined> {
  const conflict = (code: FileConflict['code'], message: string) => ({ path, code, message });
  if (path === '') return conflict('not_stored', 'The message that changed it was redacted.');
  const inside = relative(workspace.root, path);
  if (inside === '' || inside.startsWith('..') || inside.startsWith('/'))
    return conflict('outside', 'It is outside of this folder.');
  if (writeProtection(inside) !== undefined)
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
  if (isSame(from, to)) return undefined;
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

function reversed(change: FileChangeOnLog): FileChangeOnLog {
  return { ...change, before: change.after, after: change.before };
}

/**
 * Returns true if a change started from a content that no earlier change had before or after it. A change
 * that is on the log may not have happened, because its process died.
 */
function hasForeignContent(changes: readonly FileChangeOnLog[]): boolean {
  const known = new Set(changes.slice(0, 1).map(({ before }) => before?.hash));
  return changes.some(({ before, after }) => {
    const isForeign = !known.has(before?.hash);
    known.add(after?.hash);
    return isForeign;
  });
}

/** Returns true if the log does not have the content that the file has now. */
function isUnstored(from: FileVersion | undefined, chain: readonly FileChangeOnLog[]): boolean {
  if (from === undefined) return false;
  const versions = chain.flatMap(({ before, after }) => [before, after]);
  return !versions.some((version) => version?.isStored && isSame(version, from));
}

function isSame(a: FileVersion | undefined, b: FileVersion | undefined): boolean {
  return a?.hash === b?.hash;
}

/** Returns the version of a file. Undefined if there is no file. */
export async function currentVersion(
  workspace: Workspace,
  path: string,
): Promise<FileVersion | undefined> {
  try {
    const file = await workspace.open(path);
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
