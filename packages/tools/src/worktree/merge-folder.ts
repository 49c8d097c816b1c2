import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { WorkspaceError } from '../contract/workspace-error.ts';
import { completesRepository } from '../git/repositories/read-folder.ts';
import type { GitResult } from '../git/run-git.ts';
import { judgedText, obeyedNameOf } from '../permissions/repository-protection.ts';
import type { FolderScan, ScannedFile } from '../rewind/file-copies.ts';
import { pathExists } from '../search/worker/ignore-rules.ts';
import type { Workspace } from '../workspace/workspace.ts';

/** A file that was not merged. */
export interface MergeConflict {
  /** Relative to the folder. */
  readonly path: string;
  /** The reason, without the path. */
  readonly message: string;
}

/** The result of a merge. */
export interface MergeReport {
  /** The paths of the files that the merge changed, created or deleted, relative to the folder. */
  readonly merged: readonly string[];
  readonly conflicts: readonly MergeConflict[];
}

/** The folders of a merge, and how it decides. */
export interface MergeOptions {
  /** The folder with the changes. */
  readonly work: Workspace;
  /** The folder that gets the changes. Undefined if every change is a conflict. */
  readonly into: Workspace | undefined;
  /** The files of `work` when it was created, and now. */
  readonly before: FolderScan;
  readonly after: FolderScan;
  /** Returns a content of `before` by its hash. */
  readonly contentOf: (hash: string) => Uint8Array | undefined;
  readonly git: (words: readonly string[]) => Promise<GitResult | undefined>;
  /** The folder for temporary files. */
  readonly folder: string;
  /**
   * Returns the reason why a change of a path must not be merged, without the path. `real` is the real path that
   * the merge would change. Default: every change can be merged.
   */
  readonly refusalOf?: ((path: string, real: string) => Promise<string | undefined>) | undefined;
}

const maxFileBytes = 4_194_304;

/**
 * Applies the changes of one folder to a different folder. If only one of them changed a file, that version is
 * used. If both changed a text file, git merges the lines. A file with a conflict stays as it is. Merging the
 * same changes again has no effect, so an interrupted merge can be repeated.
 */
export async function mergeFolder(options: MergeOptions): Promise<MergeReport> {
  const { work, before, after, into } = options;
  const merged: string[] = [];
  const conflicts: MergeConflict[] = [];
  for (const path of new Set([...before.keys(), ...after.keys()])) {
    const [old, changed] = [before.get(path), after.get(path)];
    if (isSame(old, changed)) continue;
    // An ignored file is not part of a scan, but it still exists.
    if (changed === undefined && (await pathExists(join(work.root, path)))) continue;
    const outcome =
      into === undefined
        ? 'it was changed'
        : await mergeBound(path, old, changed, { ...options, into }).catch(failureText);
    if (outcome === 'merged') merged.push(path);
    else if (outcome !== 'same') conflicts.push({ path, message: outcome });
  }
  return { merged: merged.toSorted(), conflicts };
}

/** `merged`, `same`, or the text of a conflict. */
type Outcome = string;

/** Merges a file if `refusalOf` allows it. A link that appears after this decision does not redirect the merge. */
async function mergeBound(
  path: string,
  old: ScannedFile | undefined,
  changed: ScannedFile | undefined,
  options: MergeOptions & { readonly into: Workspace },
): Promise<Outcome> {
  const { real } = await options.into.resolve(path);
  const { into } = options;
  // If the file becomes protected after this line, the merge does not change it.
  const judged = judgedText(real, obeyedNameOf(into.root, real));
  const refusal = await options.refusalOf?.(path, real);
  return refusal ?? mergeFile(path, old, changed, { ...options, into: into.boundTo(judged) });
}

async function mergeFile(
  path: string,
  old: ScannedFile | undefined,
  changed: ScannedFile | undefined,
  options: MergeOptions & { readonly into: Workspace },
): Promise<Outcome> {
  const { into, work } = options;
  const own = await readIfThere(into, path);
  const isOwnUnchanged = own !== undefined && old?.version?.hash === hashOf(own.bytes);
  if (changed === undefined) {
    if (own === undefined) return 'same';
    if (!isOwnUnchanged) return 'the sub-agent deleted it, and it was changed here too';
    await into.remove(path);
    return 'merged';
  }
  if (changed.version === undefined) return 'it is a link, a large file, or a file without access';
  const { mode } = changed.version;
  const isModeChanged = old?.version !== undefined && old.version.mode !== mode;
  const { bytes: theirs } = await work.read(path, maxFileBytes);
  const bits = isModeChanged || old === undefined ? { mode } : {};
  if (own === undefined) {
    if (old !== undefined) return 'the sub-agent changed it, and it was deleted here';
    // Parts of a repository can come from several worktrees. Each part is harmless, so only the merge can see
    // that git would run the programs of the settings.
    if (completesRepository(into.root, path)) return 'it would make a folder a git repository here';
    await into.write(path, theirs, { isNew: true, ...bits });
    return 'merged';
  }
  if (Buffer.compare(own.bytes, theirs) === 0 && !isModeChanged) return 'same';
  const expected = own.version;
  if (isOwnUnchanged) {
    await into.write(path, theirs, { expected, ...bits });
    return 'merged';
  }
  const base = old?.version && options.contentOf(old.version.hash);
  if (base === undefined) return 'it was created or changed here too, with a different content';
  if ([own.bytes, base, theirs].some(isBinary)) return 'it was changed here too, and is not text';
  const lines = await mergeLines(own.bytes, base, theirs, options);
  if (lines === undefined) return 'the same lines were changed here too';
  if (Buffer.compare(own.bytes, lines) === 0) return 'same';
  await into.write(path, lines, { expected, ...bits });
  return 'merged';
}

/** Merges the changes of two texts. Returns undefined if they changed the same lines. */
async function mergeLines(
  own: Uint8Array,
  base: Uint8Array,
  theirs: Uint8Array,
  { folder, git }: MergeOptions,
): Promise<Buffer | undefined> {
  const place = await mkdtemp(join(folder, 'merge-'));
  try {
    const files = { own, base, theirs };
    for (const [name, bytes] of Object.entries(files)) await writeFile(join(place, name), bytes);
    const [a, b, c] = Object.keys(files).map((name) => join(place, name));
    const result = await git(['merge-file', '-p', '-q', a ?? '', b ?? '', c ?? '']);
    return result === undefined || result.isCut ? undefined : result.output;
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

async function readIfThere(from: Workspace, path: string) {
  try {
    return await from.read(path, maxFileBytes);
  } catch (error) {
    if (error instanceof WorkspaceError && error.code === 'not_found') return undefined;
    throw error;
  }
}

function failureText(error: unknown): string {
  if (error instanceof WorkspaceError) return error.message;
  throw error;
}

function isSame(old: ScannedFile | undefined, now: ScannedFile | undefined): boolean {
  if (old === undefined || now === undefined) return old === now;
  if (old.version === undefined || now.version === undefined) return old.stamp === now.stamp;
  return old.version.hash === now.version.hash && old.version.mode === now.version.mode;
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function isBinary(bytes: Uint8Array): boolean {
  return bytes.includes(0);
}
