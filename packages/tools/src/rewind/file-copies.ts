import { createHash, randomUUID } from 'node:crypto';
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { FileVersion } from '@millrace/core';

/** A file of a folder at the time of a scan. */
export interface ScannedFile {
  /** The properties that change with the content: times, size and inode. */
  readonly stamp: string;
  /**
   * The device, the inode and the time of creation. A move on the same file system and a change of the
   * content keep it.
   */
  readonly identity: string;
  /**
   * The earlier one of the times when the file was created and when its content changed last, in
   * milliseconds since 1970.
   */
  readonly sinceMs: number;
  /**
   * Undefined if the content is not kept: a link, a large file, a denied file, or a file that cannot be read.
   */
  readonly version?: FileVersion | undefined;
  /** True if the file changed so recently that another change may leave the stamp as it is. */
  readonly isRecent?: boolean | undefined;
}

/** The files of a folder by their paths, relative to the folder. */
export type FolderScan = ReadonlyMap<string, ScannedFile>;

/**
 * Copies of the files of one folder, by the hashes of their contents. Only the current user can read them.
 * One file holds many copies, because creating a file takes longer than writing a small one.
 */
export interface FileCopies {
  put(hash: string, bytes: Uint8Array): void;
  /** Returns a content. Undefined if there is no copy, or if the copy is damaged. */
  get(hash: string): Uint8Array<ArrayBuffer> | undefined;
  /** Returns the scan that `save` stored last. It is empty if there is none. */
  load(): FolderScan;
  /** Stores a scan for the next process, and deletes old copies that the scan does not need. */
  save(scan: FolderScan): void;
  /** The number of bytes that this process has written, including copies that are not needed any more. */
  readonly written: number;
  close(): void;
}

/** The place of a copy: the name of the file, the position in it, and the number of bytes. */
type CopyPlace = readonly [pack: string, from: number, length: number];

interface StoredScan {
  readonly version: number;
  readonly files: readonly (readonly [path: string, file: ScannedFile])[];
  readonly copies: readonly (readonly [hash: string, place: CopyPlace])[];
}

const dayMs = 86_400_000;
/** Copies that the index does not use are deleted after this time. Another process may still use newer copies. */
const keepCopyMs = dayMs;
/** The copies of a folder in which no command has run for this time are deleted. */
const keepFolderMs = 30 * dayMs;
/** Number of bytes that are written together. */
const bufferLength = 1_048_576;
const indexName = 'index.json';
const storedVersion = 2;

/**
 * Opens the copies of a folder. They are in a subfolder of `place`, which is created if it is missing.
 * Old copies of other folders are deleted. The caller must close the result.
 */
export function openFileCopies(place: string, root: string): FileCopies {
  const own = join(place, createHash('sha256').update(root).digest('hex').slice(0, 32));
  makeFolder(own);
  removeUnusedFolders(place, own);
  const places = new Map<string, CopyPlace>();
  const pack = `pack-${randomUUID()}`;
  let fd: number | undefined;
  let written = 0;
  let buffered: Uint8Array[] = [];
  let bufferedLength = 0;
  const flush = () => {
    if (bufferedLength === 0) return;
    fd ??= openSync(join(own, pack), 'wx', 0o600);
    const bytes = Buffer.concat(buffered);
    for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
    written += bytes.length;
    buffered = [];
    bufferedLength = 0;
  };
  return {
    put(hash, bytes) {
      if (places.has(hash)) return;
      buffered.push(bytes);
      places.set(hash, [pack, written + bufferedLength, bytes.length]);
      bufferedLength += bytes.length;
      if (bufferedLength >= bufferLength) flush();
    },
    get(hash) {
      const found = places.get(hash);
      if (found === undefined) return undefined;
      try {
        flush();
        const bytes = readPlace(own, found);
        return createHash('sha256').update(bytes).digest('hex') === hash ? bytes : undefined;
      } catch {
        return undefined;
      }
    },
    load() {
      try {
        const stored = JSON.parse(readFileSync(join(own, indexName), 'utf8')) as StoredScan;
        return stored.version === storedVersion ? usableScan(own, stored, places) : new Map();
      } catch {
        return new Map();
      }
    },
    save(scan) {
      flush();
      const needed = new Set([...scan.values()].map(({ version }) => version?.hash));
      const copies = [...places].filter(([hash]) => needed.has(hash));
      const stored: StoredScan = { version: storedVersion, files: [...scan], copies };
      const draft = join(own, `draft-${randomUUID()}`);
      writeFileSync(draft, JSON.stringify(stored), { mode: 0o600, flag: 'wx' });
      renameSync(draft, join(own, indexName));
      const used = new Set([indexName, pack, ...copies.map(([, [name]]) => name)]);
      for (const name of readdirSync(own))
        if (!used.has(name) && isOlder(join(own, name), keepCopyMs))
          rmSync(join(own, name), { force: true });
    },
    get written() {
      return written;
    },
    close() {
      if (fd !== undefined) closeSync(fd);
      fd = undefined;
    },
  };
}

/**
 * Returns the files of a stored scan whose copies exist, and adds these copies to `places`. A pack that is
 * mostly unused is left out. Its files are then copied again, and the pack is deleted later.
 */
function usableScan(
  folder: string,
  { files, copies }: StoredScan,
  places: Map<string, CopyPlace>,
): FolderScan {
  const packs = Map.groupBy(copies, ([, [pack]]) => pack);
  for (const [pack, inside] of packs) {
    const size = statSync(join(folder, pack), { throwIfNoEntry: false })?.size ?? 0;
    const used = inside.reduce((sum, [, [, , length]]) => sum + length, 0);
    if (size > bufferLength && used < size / 2) continue;
    for (const [hash, place] of inside) if (place[1] + place[2] <= size) places.set(hash, place);
  }
  const isUsable = ([, { version }]: StoredScan['files'][number]) =>
    version !== undefined && (!version.isStored || places.has(version.hash));
  return new Map(files.filter(isUsable));
}

function readPlace(folder: string, [pack, from, length]: CopyPlace): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  const fd = openSync(join(folder, pack), 'r');
  try {
    for (let done = 0; done < length; ) {
      const count = readSync(fd, bytes, done, length - done, from + done);
      if (count === 0) throw new Error('The copy is cut');
      done += count;
    }
    return bytes;
  } finally {
    closeSync(fd);
  }
}

/** Creates a folder and its parents. A recursive mkdir of Node.js never returns below `/proc`. */
export function makeFolder(path: string): void {
  const missing: string[] = [];
  for (let at = path; statSync(at, { throwIfNoEntry: false }) === undefined; at = dirname(at))
    missing.unshift(at);
  for (const folder of missing) {
    try {
      mkdirSync(folder, { mode: 0o700 });
    } catch (error) {
      // Another process may have created the folder meanwhile.
      if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw error;
    }
  }
}

/** Deletes the copies of folders that were not used for a long time. */
function removeUnusedFolders(place: string, own: string): void {
  const now = new Date();
  utimesSync(own, now, now);
  for (const name of readdirSync(place)) {
    const path = join(place, name);
    if (path !== own && isOlder(path, keepFolderMs)) rmSync(path, { recursive: true, force: true });
  }
}

function isOlder(path: string, ms: number): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && Date.now() - stats.mtimeMs > ms;
}
