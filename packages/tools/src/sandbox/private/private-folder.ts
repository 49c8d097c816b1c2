import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { SandboxError } from '../../contract/sandbox.ts';
import { isInside } from '../../workspace/match-path.ts';

/** True if a path is outside all of these folders. All paths must be real paths. */
export function isAway(path: string, folders: readonly string[]): boolean {
  return !folders.some((folder) => isInside(folder, path));
}

/**
 * Creates a folder that only this user can open, and returns its real path. The folder is outside of the
 * folders in `away`, which commands may change. Otherwise a command could replace the agent's files.
 *
 * With `files`, the folder is on a disk if possible, because it can receive large files. With `pipes`, it is
 * in memory if possible, because it stays small. Commands in the sandbox do not see the memory folders of the
 * host.
 */
export function createPrivateFolder(
  prefix: string,
  away: readonly string[],
  use: 'files' | 'pipes',
): string {
  const memory = [process.env['XDG_RUNTIME_DIR'] ?? '', '/dev/shm'];
  const disk = [tmpdir(), '/var/tmp', join(homedir(), '.cache')];
  const places = use === 'files' ? [...disk, ...memory] : [...memory, ...disk];
  for (const place of places) {
    if (!isAbsolute(place)) continue;
    try {
      const real = realpathSync(place);
      if (isAway(real, away)) return mkdtempSync(join(real, prefix));
    } catch {
      // The place does not exist, or this user cannot write there. The loop tries the next place.
    }
  }
  throw new SandboxError(
    'cannot_confine',
    'Cannot run the command: there is no folder for temporary files outside of the workspace. Set TMPDIR to one',
    { path: tmpdir() },
  );
}

/** The file in a private folder that names the process that uses the folder. */
const ownerFile = 'owner';
/** The folder in a private folder with notes about running commands, see `noteRunning`. */
export const notesFolder = 'running';
/** Maximum number of old folders that one process removes. */
const maxRemoved = 100;
/** The places in which this process has already removed old folders. */
const cleaned = new Set<string>();

/**
 * Stores which process uses a private folder. A process that is killed leaves its folder behind, so the first call
 * also removes old folders with this prefix in the background.
 */
export function claimFolder(folder: string, prefix: string): void {
  const owner = ownerOf(process.pid);
  if (owner === undefined) return;
  writeFileSync(join(folder, ownerFile), owner, { mode: 0o400, flag: 'wx' });
  const place = dirname(folder);
  if (cleaned.has(place)) return;
  cleaned.add(place);
  void removeAbandoned(place, prefix).catch(() => {
    // The abandoned folders stay. The next process tries to remove them again.
  });
}

async function removeAbandoned(place: string, prefix: string): Promise<void> {
  const names = (await readdir(place)).filter((name) => name.startsWith(prefix));
  const abandoned = names.map((name) => join(place, name)).filter(isAbandoned);
  let removed = 0;
  for (const folder of abandoned) {
    if (removed === maxRemoved) return;
    const notes = await readdir(join(folder, notesFolder)).catch(() => []);
    const isNeeded = notes.some((name) => existsSync(rootIn(join(folder, notesFolder, name))));
    // The notes stay until a process has checked their workspaces.
    const old = isNeeded ? join(folder, temporaryName) : folder;
    if (!existsSync(old)) continue;
    removed++;
    // `rm` does not follow links.
    await rm(old, { recursive: true, force: true }).catch(() => {});
  }
}

/** The folder in a private folder that commands see as `/tmp`. */
export const temporaryName = 'tmp';

/**
 * Removes a private folder that this process does not need any more. If there are notes about running or unchecked
 * commands, they stay with the name of their process, because the next process needs them.
 */
export function removePrivateFolder(folder: string): void {
  try {
    const notes = join(folder, notesFolder);
    const hasNotes = existsSync(notes) && readdirSync(notes).length > 0;
    rmSync(hasNotes ? join(folder, temporaryName) : folder, { recursive: true, force: true });
  } catch {
    // The folder cannot be removed, because a command has changed its permissions. The error is ignored.
  }
}

/** Returns the workspace of a note about running commands. */
function rootIn(file: string): string {
  try {
    return String(JSON.parse(readFileSync(file, 'utf8')).root);
  } catch {
    return '';
  }
}

/**
 * True for a real folder of this user that no other user can open. Another user can create a folder or a link with the
 * same prefix.
 */
export function isPrivate(folder: string): boolean {
  const entry = lstatSync(folder, { throwIfNoEntry: false });
  const isOwn = entry?.uid === process.getuid?.() && ((entry?.mode ?? 0) & 0o77) === 0;
  return isOwn && entry?.isDirectory() === true;
}

/** True if the process of a private folder has ended. */
export function isAbandoned(folder: string): boolean {
  try {
    if (!isPrivate(folder)) return false;
    const path = join(folder, ownerFile);
    if (!lstatSync(path).isFile()) return false;
    const owner = readFileSync(path, 'utf8');
    const [boot, namespace, pid = ''] = owner.split(' ');
    const own = ownerOf(process.pid)?.split(' ');
    // In a different container, the same number can be the id of a different process.
    if (own === undefined || boot !== own[0] || namespace !== own[1]) return false;
    return /^\d+$/.test(pid) && ownerOf(Number(pid)) !== owner;
  } catch {
    return false;
  }
}

/**
 * Returns a text that identifies a process of this machine: the start of the machine, the namespace of process
 * ids, the id, and the start of the process. Returns undefined if there is no such process, or no `/proc`.
 */
function ownerOf(pid: number): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program can contain spaces and brackets. The start is the 20th field after the name.
    const start = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    return [boot, readlinkSync('/proc/self/ns/pid'), pid, start].join(' ');
  } catch {
    return undefined;
  }
}
