import { join, resolve } from 'node:path';
import { TrackedFiles } from '../git/repositories/tracked-files.ts';
import { assertKnownOptions } from '../known-options.ts';
import { pathExists } from '../search/worker/ignore-rules.ts';
import { isInside } from '../workspace/match-path.ts';
import type { ChangeLog } from '../workspace/record-change.ts';
import {
  type FileCopies,
  type FolderScan,
  openFileCopies,
  type ScannedFile,
} from './file-copies.ts';
import { type ScanLimits, scanFolder } from './folder-scan.ts';

/** Options of `commandFiles`. */
export interface CommandFilesOptions {
  /** The folder in which the commands run. `root` is its real path. */
  readonly workspace: { readonly root: string };
  /**
   * The folder for copies of the files. Commands must not be able to change it. If it is inside the
   * workspace, nothing is recorded. Several processes can use the same folder.
   */
  readonly copies: string;
  /**
   * Returns true for a file whose content must not get onto the log or into the copies, because a rule denies its
   * path. The path is relative to the root. A change of this file is recorded as unknown. Default: no file.
   */
  readonly omits?: ((path: string) => boolean) | undefined;
  /** Maximum number of files and folders. In a larger workspace, nothing is recorded. Default: 20,000. */
  readonly maxFiles?: number | undefined;
  /** Maximum size of a file whose content is kept, in bytes. Default: 4 MiB. */
  readonly maxFileBytes?: number | undefined;
  /** Maximum size of all kept files together, in bytes. Default: 256 MiB. */
  readonly maxTotalBytes?: number | undefined;
}

/** Records which files the commands of a workspace change. Pass it to `bashTool`. */
export interface CommandFiles {
  /**
   * Reads the files before a command. Call the result when the command has ended: it writes the changes
   * to the log.
   */
  start(log: ChangeLog): Promise<() => Promise<void>>;
  /** Reads the files now, so that the first command does not wait for it. Never rejects. */
  warm(): Promise<void>;
}

/**
 * Maximum number of changed files of one command. If a command changes more files, its changes are unknown.
 */
const maxChanges = 5000;
/** The scan is stored for the next process when this many files have changed since. */
const changesPerSave = 200;

/**
 * Creates a recorder for the files that commands change. Files that git ignores are not recorded, unless git tracks
 * them. A change
 * that another person or program makes while a command runs counts as a change by the command. If the content
 * at a path may be older than the command, for example an ignored file that the command moved, the change is
 * recorded as unknown. Nothing then deletes or overwrites that file.
 *
 * @example
 * const files = commandFiles({ workspace, copies: join(dataFolder, 'copies') });
 * const bash = bashTool({ workspace, files });
 */
export function commandFiles(options: CommandFilesOptions): CommandFiles {
  assertKnownOptions('commandFiles', options, {
    ...{ workspace: true, copies: true, omits: true },
    ...{ maxFiles: true, maxFileBytes: true, maxTotalBytes: true },
  });
  const { root } = options.workspace;
  const limits: ScanLimits = {
    maxFiles: options.maxFiles ?? 20_000,
    maxFileBytes: options.maxFileBytes ?? 4_194_304,
    maxTotalBytes: options.maxTotalBytes ?? 268_435_456,
  };
  const folder = new RecordedFolder(options, limits);
  return {
    async start(log) {
      const record = log.recordFileChange;
      if (record === undefined) return async () => {};
      const startedMs = Date.now();
      const whole = { path: root, before: undefined, after: undefined };
      const before = await folder.scan();
      await record({ ...whole, scope: 'pending' });
      return async () => {
        // A command can change a file and then add the file to `.gitignore`.
        const after = before && (await folder.scan(before.keys()));
        if (before === undefined || after === undefined) return;
        const changes = await changesBetween(root, before, after, startedMs);
        if (changes === undefined) return;
        for (const change of changes)
          await recordOne(log, folder.copies, join(root, change.path), change);
        await record({ ...whole, scope: 'recorded' });
      };
    },
    warm: async () => void (await folder.scan()),
  };
}

/** The last known files of a folder. Scans run one after the other, and each starts from the last one. */
class RecordedFolder {
  readonly #root: string;
  readonly #place: string;
  readonly #limits: ScanLimits;
  readonly #omits: CommandFilesOptions['omits'];
  #opened: FileCopies | undefined;
  #last: FolderScan = new Map();
  #work: Promise<unknown> = Promise.resolve();
  #unsaved = 0;
  readonly #tracked = new TrackedFiles();

  constructor({ workspace, copies, omits }: CommandFilesOptions, limits: ScanLimits) {
    this.#root = workspace.root;
    this.#place = copies;
    this.#limits = limits;
    this.#omits = omits;
  }

  get copies(): FileCopies | undefined {
    return this.#opened;
  }

  /**
   * Returns undefined if the folder cannot be scanned, for example because the disk is full. `also` contains files
   * that are scanned even if they are ignored now.
   */
  scan(also?: Iterable<string>): Promise<FolderScan | undefined> {
    const next = this.#work.then(() => this.#scanNow(also)).catch(() => undefined);
    this.#work = next;
    return next;
  }

  async #scanNow(also?: Iterable<string>): Promise<FolderScan | undefined> {
    // If the folder of the copies were inside of the scanned folder, each scan would also copy the copies of
    // the last scan.
    const place = resolve(this.#place);
    if (isInside(this.#root, place)) return undefined;
    if (this.#opened === undefined) {
      this.#opened = openFileCopies(this.#place, this.#root);
      this.#last = this.#opened.load();
    }
    const earlier = this.#last;
    const scan = await scanFolder({
      ...{ root: this.#root, earlier, copies: this.#opened, limits: this.#limits },
      ...{ tracked: this.#tracked, also, omits: this.#omits },
    });
    if (scan === undefined) return undefined;
    this.#last = scan;
    for (const [path, { stamp }] of scan) if (earlier.get(path)?.stamp !== stamp) this.#unsaved++;
    const isFull = this.#opened.written > 2 * this.#limits.maxTotalBytes;
    if (isFull || this.#unsaved >= changesPerSave) {
      this.#opened.save(scan);
      this.#unsaved = 0;
    }
    // The next scan opens the copies again, and copies only what is still needed.
    if (isFull) this.#close();
    return scan;
  }

  #close(): void {
    this.#opened?.close();
    this.#opened = undefined;
  }
}

interface ChangedFile {
  /** Relative to the root. */
  readonly path: string;
  readonly before: ScannedFile | undefined;
  readonly after: ScannedFile | undefined;
  /** True if the content at the path may be older than the command. The change is then unknown. */
  readonly isForeign: boolean;
}

/** Returns the differences of two scans. Undefined if there are too many. */
async function changesBetween(
  root: string,
  before: FolderScan,
  after: FolderScan,
  startedMs: number,
): Promise<readonly ChangedFile[] | undefined> {
  const changes: ChangedFile[] = [];
  const isOwn = ownFiles(before, after, startedMs);
  for (const [path, file] of after) {
    const old = before.get(path);
    if (!isSame(old, file))
      changes.push({ path, before: old, after: file, isForeign: !isOwn(old, file) });
  }
  for (const [path, file] of before)
    if (!after.has(path) && !(await pathExists(join(root, path))))
      changes.push({ path, before: file, after: undefined, isForeign: false });
  return changes.length > maxChanges ? undefined : changes;
}

/** File systems take the time from a clock that is up to this much behind. */
const clockStepMs = 50;

/**
 * Returns a function that returns true if the change of a path can be undone without a loss. A file that
 * appears at a path may have existed before: a scan omits ignored files, and a command can move them or change
 * the ignore rules. Deleting such a file would delete work of the user. The function therefore returns true
 * only for three kinds of files:
 *
 * - The scan before has the same file at this path.
 * - The scan before has the same file at one other path, the file has left that path, and it is not at two
 *   new paths.
 * - The file was created and written after the command started. Both times are needed, because a move between
 *   file systems keeps the time of the content. If the file system stores no time of creation, no file is of
 *   this kind.
 */
function ownFiles(before: FolderScan, after: FolderScan, startedMs: number) {
  const left = new Set<string>();
  for (const [path, { identity }] of before)
    if (after.get(path)?.identity !== identity) left.add(identity);
  const arrived = new Map<string, number>();
  for (const [path, { identity }] of after)
    if (before.get(path)?.identity !== identity)
      arrived.set(identity, (arrived.get(identity) ?? 0) + 1);
  return (old: ScannedFile | undefined, { identity, sinceMs }: ScannedFile): boolean =>
    old?.identity === identity ||
    (left.has(identity) && arrived.get(identity) === 1) ||
    sinceMs >= startedMs - clockStepMs;
}

function isSame(a: ScannedFile | undefined, b: ScannedFile): boolean {
  if (a === undefined) return false;
  if (a.version === undefined || b.version === undefined) return a.stamp === b.stamp;
  return a.version.hash === b.version.hash && a.version.mode === b.version.mode;
}

async function recordOne(
  { blobs, recordFileChange }: ChangeLog,
  copies: FileCopies | undefined,
  path: string,
  { before, after, isForeign }: ChangedFile,
): Promise<void> {
  const isKnown = [before, after].every((file) => file === undefined || file.version !== undefined);
  if (!isKnown || isForeign)
    return recordFileChange?.({ path, before: undefined, after: undefined, scope: 'pending' });
  const store = async (file: ScannedFile | undefined) => {
    const version = file?.version;
    if (!version?.isStored) return version;
    const bytes = copies?.get(version.hash);
    if (bytes !== undefined) await blobs.put(bytes);
    return { ...version, isStored: bytes !== undefined };
  };
  await recordFileChange?.({ path, before: await store(before), after: await store(after) });
}
