import { createHash } from 'node:crypto';
import { type BigIntStats, lstatSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { FileVersion } from '@millrace/core';
import { errorCodeOf } from '../contract/workspace-error.ts';
import type { TrackedFiles } from '../git/repositories/tracked-files.ts';
import { readProtection } from '../permissions/protected-paths.ts';
import { startingRules } from '../search/worker/ignore-rules.ts';
import { openWalkedFile } from '../search/worker/searched-files.ts';
import { createWalkReport, type WalkedFile, walkFiles } from '../search/worker/walk-files.ts';
import { type Folder, folderOpener } from '../workspace/folder.ts';
import type { FileCopies, FolderScan, ScannedFile } from './file-copies.ts';

export interface ScanLimits {
  /** Maximum number of entries of all folders. */
  readonly maxFiles: number;
  /** Maximum size of a file whose content is kept, in bytes. */
  readonly maxFileBytes: number;
  /** Maximum size of all kept contents together, in bytes. */
  readonly maxTotalBytes: number;
}

const maxDepth = 100;
/** The number of files after which other tasks of the event loop run. */
const sliceLength = 128;
/** File systems update the times of files in steps. This is longer than any such step. */
const stampStepNs = 2_000_000_000n;

/** The places of a scan. */
export interface ScanOptions {
  readonly root: string;
  /** The last scan. A file with the same stamp is not read again. */
  readonly earlier: FolderScan;
  readonly copies: FileCopies;
  readonly limits: ScanLimits;
  readonly tracked: TrackedFiles;
  /**
   * The paths of further files to scan, even if git ignores these files now. A command can change a file and
   * then add the file to `.gitignore`. Default: none.
   */
  readonly also?: Iterable<string> | undefined;
  /** Returns true for a path, relative to the root, whose content is not read. Default: no path. */
  readonly omits?: ((path: string) => boolean) | undefined;
}

/**
 * Reads which files a folder has, and keeps a copy of each content that `earlier` does not have. Ignored
 * files and `.git` are left out, but a file in the index of git is not ignored. Returns undefined if the folder has
 * too many entries.
 */
export async function scanFolder(options: ScanOptions): Promise<FolderScan | undefined> {
  const { root, earlier, copies } = options;
  const { maxFiles, maxFileBytes, maxTotalBytes } = options.limits;
  const { rules, path: rulesPath } = await startingRules(root, root);
  const { signal } = new AbortController();
  const walk = { rules, rulesPath, maxEntries: maxFiles, maxDepth, signal, withLinks: true };
  const report = createWalkReport();
  const files = new Map<string, ScannedFile>();
  let bytesLeft = maxTotalBytes;
  const addFile = async (file: WalkedFile) => {
    if (files.size % sliceLength === sliceLength - 1) await setImmediate();
    const stats = statsOf(file);
    if (stats === undefined || stats.isDirectory()) return;
    const maxBytes = Math.min(maxFileBytes, bytesLeft);
    const known = earlier.get(file.path);
    const scanned = options.omits?.(file.path)
      ? headOf(stats)
      : await scanFile(file, stats, known, copies, maxBytes);
    if (scanned.version?.isStored) bytesLeft -= scanned.version.length;
    files.set(file.path, scanned);
  };
  const start = await folderOpener(root)();
  try {
    for await (const file of walkFiles(start, walk, report)) await addFile(file);
    if (report.cut !== undefined || report.unreadable > 0) return undefined;
    // `walkFiles` skips ignored files. Git does not ignore the files that it tracks, so they are added here.
    let missing = 0;
    for (const paths of [options.tracked.below(root), options.also ?? []])
      for (const path of paths) {
        if (files.has(path) || missing > maxFiles) continue;
        if (!existsBelow(root, path)) missing++;
        else if (files.size >= maxFiles) return undefined;
        else await withFile(start, path, addFile);
      }
  } finally {
    await start.close();
  }
  return files;
}

function existsBelow(root: string, path: string): boolean {
  return lstatSync(join(root, path), { throwIfNoEntry: false }) !== undefined;
}

/** Opens the folders above a file one by one, so that no link redirects the path. */
async function withFile(
  start: Folder,
  path: string,
  use: (file: WalkedFile) => Promise<void>,
): Promise<void> {
  const names = path.split('/');
  const name = names.pop() ?? '';
  const opened: Folder[] = [];
  try {
    let folder = start;
    for (const inner of names) {
      folder = await folder.enter(inner);
      opened.push(folder);
    }
    await use({ name, path, folder, isLink: false });
  } catch (error) {
    // A folder is a link now, or it was removed. The file does not exist at this path.
    if (!['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errorCodeOf(error) ?? '')) throw error;
  } finally {
    for (const one of opened) await one.close();
  }
}

function statsOf({ folder, name }: WalkedFile): BigIntStats | undefined {
  return lstatSync(folder.pathOf(name), { bigint: true, throwIfNoEntry: false });
}

/** Returns what is known about a file without its content. */
function headOf({ mtimeNs, ctimeNs, birthtimeNs, size, ino, dev }: BigIntStats): ScannedFile {
  const stamp = `${mtimeNs}.${ctimeNs}.${size}.${ino}`;
  const identity = `${dev}.${ino}.${birthtimeNs}`;
  const sinceNs = mtimeNs < birthtimeNs ? mtimeNs : birthtimeNs;
  return { stamp, identity, sinceMs: Number(sinceNs / 1_000_000n) };
}

async function scanFile(
  file: WalkedFile,
  stats: BigIntStats,
  earlier: ScannedFile | undefined,
  copies: FileCopies,
  maxBytes: number,
): Promise<ScannedFile> {
  const { ctimeNs, size } = stats;
  const head = headOf(stats);
  if (earlier?.stamp === head.stamp && !earlier.isRecent) return earlier;
  const isRecent = BigInt(Date.now()) * 1_000_000n - ctimeNs < stampStepNs;
  if (!stats.isFile() || size > BigInt(maxBytes)) return { ...head, isRecent };
  const mode = Number(stats.mode & 0o7777n);
  return { ...head, isRecent, version: await keepContent(file, mode, copies, maxBytes) };
}

async function keepContent(
  file: WalkedFile,
  mode: number,
  copies: FileCopies,
  maxBytes: number,
): Promise<FileVersion | undefined> {
  const opened = await openWalkedFile(file);
  if (opened === undefined) return undefined;
  try {
    const bytes = readAll(opened.fd, maxBytes);
    if (bytes === undefined) return undefined;
    const hash = createHash('sha256').update(bytes).digest('hex');
    const isStored = readProtection(file.path) === undefined;
    if (isStored) copies.put(hash, bytes);
    return { hash, length: bytes.length, mode, isStored };
  } finally {
    await opened.close();
  }
}

/** Returns the whole content. Undefined if it is longer than allowed, or cannot be read. */
function readAll(fd: number, maxBytes: number): Buffer | undefined {
  const chunks: Buffer[] = [];
  try {
    for (let length = 0; ; ) {
      const chunk = Buffer.allocUnsafe(65_536);
      const count = readSync(fd, chunk, 0, chunk.length, length);
      if (count === 0) return Buffer.concat(chunks);
      length += count;
      if (length > maxBytes) return undefined;
      chunks.push(chunk.subarray(0, count));
    }
  } catch {
    return undefined;
  }
}
