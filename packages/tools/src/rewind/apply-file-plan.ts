import type { FileVersion } from '@millrace/core';
import type { BlobStore } from '@millrace/log';
import { WorkspaceError } from '../contract/workspace-error.ts';
import { judgedText, obeyedNameOf } from '../permissions/repository-protection.ts';
import { maxStoredBytes } from '../workspace/record-change.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { currentVersion, type FilePlan, type FileStep } from './plan-file-changes.ts';

/**
 * Changes all files of the plan, or none of them. Rejects with a `WorkspaceError` if the plan has conflicts,
 * a content is missing, or a file changes during the call. The files then keep their previous state.
 *
 * @example
 * const plan = await planFileChanges(workspace, { undo });
 * if (plan.conflicts.length === 0) await applyFilePlan(workspace, log.blobs, plan);
 */
export async function applyFilePlan(
  workspace: Workspace,
  blobs: BlobStore,
  { steps, conflicts }: FilePlan,
): Promise<void> {
  const [first] = conflicts;
  if (first !== undefined) throw conflictError(first.path, first.message);
  // All contents are read before the first file changes, including those that are needed to restore the old
  // state.
  const contents = new Map<string, Uint8Array>();
  for (const { path, from, to } of steps)
    for (const version of [from, to])
      if (version !== undefined) contents.set(version.hash, await contentOf(blobs, path, version));
  const done: FileStep[] = [];
  // A file that is deleted first makes room for a folder with the same name.
  const deletedFirst = steps.toSorted(
    (a, b) => Number(b.to === undefined) - Number(a.to === undefined),
  );
  try {
    for (const step of deletedFirst) {
      await applyStep(workspace.boundTo(step.path), step, contents);
      done.push(step);
    }
  } catch (error) {
    for (const { path, from, to } of done.toReversed()) {
      // Normally, a write that creates a repository is refused. If the previous state had a repository, this
      // code must restore it.
      const { root } = workspace;
      const bound = workspace.boundTo(judgedText(path, obeyedNameOf(root, path)));
      await applyStep(bound, { path, from: to, to: from }, contents).catch(() => {});
    }
    throw error;
  }
}

async function applyStep(
  bound: Workspace,
  { path, from, to }: FileStep,
  contents: ReadonlyMap<string, Uint8Array>,
): Promise<void> {
  if ((await currentVersion(bound, path))?.hash !== from?.hash)
    throw conflictError(path, 'Somebody else changed it just now.');
  if (to === undefined) return void (await bound.remove(path));
  const bytes = contents.get(to.hash) ?? new Uint8Array();
  const isNew = from === undefined;
  await bound.write(path, bytes, { isNew, mode: to.mode });
}

async function contentOf(
  blobs: BlobStore,
  path: string,
  { hash, length }: FileVersion,
): Promise<Uint8Array> {
  const bytes = length <= maxStoredBytes ? await blobs.get(hash) : undefined;
  if (bytes !== undefined) return bytes;
  throw conflictError(path, 'The log has lost its earlier content.');
}

function conflictError(path: string, why: string): WorkspaceError {
  return new WorkspaceError('changed', path, `nothing was changed. ${why}`);
}
