import { type EntryStart, findExtensionRisk } from './index-extensions.ts';

/**
 * The size of the header, in bytes. `statBytes` is the size of the fields before the hash of an entry. Two
 * bytes of flags follow the hash.
 */
const headerBytes = 12;
const statBytes = 40;
const modeOffset = 24;

/**
 * The size of the hashes in an index, in bytes: SHA-1, or SHA-256 if the settings of the repository
 * require it.
 */
export type HashBytes = 20 | 32;

const flags = { extended: 0x4000, nameLength: 0x0fff, skipWorktree: 0x4000 } as const;
const fileTypes = {
  ...{ mask: 0o170000, file: 0o100000, link: 0o120000, submodule: 0o160000 },
} as const;

/** Maximum length of a path in Linux, in bytes. A file with a longer path cannot exist. */
const maxNameBytes = 4096;
/**
 * Maximum length of all paths together, in bytes. In version 4, each name can reuse the beginning of the previous
 * name, so the paths can be much larger than the index.
 */
const maxTotalBytes = 64 * 1024 * 1024;

/** The types of entries that are not folders. */
const entryTypes: readonly number[] = [fileTypes.file, fileTypes.link, fileTypes.submodule];

/**
 * Returns the reason why the index of a repository is a risk. Returns undefined if it lists only files and
 * links. A submodule is a risk, because git reads the configuration of the repository inside it. An index is
 * also a risk if git may read it differently than this function.
 *
 * The function reads the versions 2, 3 and 4 of git's format `gitformat-index`, with SHA-1 hashes.
 */
export function findIndexRisk(index: Buffer): string | undefined {
  try {
    return findRisk(index);
  } catch (error) {
    // A number in the index points outside the file.
    if (error instanceof RangeError) return 'the index is damaged';
    throw error;
  }
}

/** An index and the size of its hashes. */
interface IndexFile {
  readonly index: Buffer;
  readonly hashBytes: HashBytes;
}

/**
 * Returns the paths of the submodules in an index and in the `shared` files of a split index. Returns
 * undefined if git may read different entries than this function. This is the case for a damaged index, an
 * unknown format, or a path that git never writes.
 */
export function submodulePaths(index: Buffer, parts: IndexParts): readonly string[] | undefined {
  const found = readAllPaths(index, parts, (type) => type === fileTypes.submodule);
  return found?.every(isUsualPath) ? found : undefined;
}

/**
 * Returns the paths of all entries in an index and in the `shared` files of a split index. Returns undefined if
 * the index is damaged, has an unknown format, or lists a folder instead of its files.
 */
export function indexPaths(index: Buffer, parts: IndexParts): readonly string[] | undefined {
  // In a split index, an entry without a name replaces an entry of the shared file.
  return readAllPaths(index, parts, () => true)?.filter((path) => path !== '');
}

/** Like `indexPaths`, but without the files that a sparse checkout leaves out of the worktree. */
export function checkedOutPaths(index: Buffer, parts: IndexParts): readonly string[] | undefined {
  const found = readAllPaths(index, parts, (_type, isSkipped) => !isSkipped);
  return found?.filter((path) => path !== '');
}

/** Returns true for the wanted entries. */
type IsWanted = (type: number, isSkipped: boolean) => boolean;

interface IndexParts {
  readonly shared: readonly Buffer[];
  readonly hashBytes: HashBytes;
}

function readAllPaths(
  index: Buffer,
  { shared, hashBytes }: IndexParts,
  isWanted: IsWanted,
): readonly string[] | undefined {
  try {
    const budget: NameBudget = { bytes: maxTotalBytes };
    const all = [index, ...shared].map((one) =>
      readPaths({ index: one, hashBytes }, isWanted, budget),
    );
    const known = all.filter((one) => one !== undefined);
    return known.length < all.length ? undefined : [...new Set(known.flat())];
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** The number of bytes that further names may have. */
interface NameBudget {
  bytes: number;
}

/** Returns the paths of the entries with the wanted types. */
function readPaths(
  file: IndexFile,
  isWanted: IsWanted,
  budget: NameBudget,
): readonly string[] | undefined {
  const { index, hashBytes } = file;
  const version = index.readUInt32BE(4);
  if (index.toString('latin1', 0, 4) !== 'DIRC' || version < 2 || version > 4) return undefined;
  const count = index.readUInt32BE(8);
  const found: string[] = [];
  const starts: EntryStart[] = [];
  let previous: Buffer = Buffer.alloc(0);
  let at = headerBytes;
  while (starts.length < count) {
    const entry = entryAt(file, at, version, previous.length);
    budget.bytes -= entry.nameLength;
    if (budget.bytes < 0) throw new RangeError('too many names');
    const keptLength = entry.nameLength - entry.addedLength;
    // Git ignores the upper half of the mode and the permissions of a submodule.
    const type = index.readUInt32BE(at + modeOffset) & fileTypes.mask;
    const isFound = isWanted(type, entry.isSkipped);
    if (version === 4 || isFound) {
      const added = index.subarray(entry.nameStart, entry.nameStart + entry.addedLength);
      previous =
        keptLength === 0 ? added : Buffer.concat([previous.subarray(0, keptLength), added]);
    }
    if (!entryTypes.includes(type)) return undefined;
    if (isFound) found.push(previous.toString('utf8'));
    starts.push({ at, isWhole: keptLength === 0 });
    at = entry.end;
  }
  const end = index.length - hashBytes;
  const risk = findExtensionRisk(index, at, end, starts, { isSplit: true });
  return risk === undefined ? found : undefined;
}

/**
 * True if the path has a form that git itself writes to an index. Git follows any path in an index, even an
 * absolute path or a path with `..`. For git, a path ends at a zero byte. In a split index, an empty name
 * replaces an entry of the shared file.
 */
export function isUsualPath(path: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: such a path may end for git earlier
  if (/[\u0000-\u001f\u007f\uFFFD]/.test(path)) return false;
  return path.split('/').every((name) => !/^(?:\.{0,2}|\.git)$/i.test(name));
}

function findRisk(index: Buffer): string | undefined {
  const version = index.readUInt32BE(4);
  if (index.toString('latin1', 0, 4) !== 'DIRC' || version < 2 || version > 4)
    return 'the index has an unknown format';
  const count = index.readUInt32BE(8);
  const file = { index, hashBytes: 20 } as const;
  const end = index.length - file.hashBytes;
  const starts: EntryStart[] = [];
  let at = headerBytes;
  for (let nameLength = 0; starts.length < count; ) {
    if (at + statBytes + file.hashBytes + 2 > end) return 'the index is damaged';
    const type = index.readUInt32BE(at + modeOffset) & fileTypes.mask;
    if (type !== fileTypes.file && type !== fileTypes.link)
      return 'the index has a submodule or a sparse folder';
    const entry = entryAt(file, at, version, nameLength);
    ({ nameLength } = entry);
    starts.push({ at, isWhole: entry.addedLength === nameLength });
    at = entry.end;
  }
  return findExtensionRisk(index, at, end, starts);
}

interface Entry {
  readonly nameLength: number;
  /** The offset at which the stored part of the name starts. `addedLength` is the length of that part. */
  readonly nameStart: number;
  readonly addedLength: number;
  /** The offset at which the next entry starts. */
  readonly end: number;
  /** True if a sparse checkout leaves the file out of the worktree. */
  readonly isSkipped: boolean;
}

function entryAt(
  { index, hashBytes }: IndexFile,
  at: number,
  version: number,
  previousLength: number,
): Entry {
  const flagsAt = at + statBytes + hashBytes;
  const bits = index.readUInt16BE(flagsAt);
  // An extended entry has a second field of flags. Git writes this field only in version 3, but reads it in
  // every version.
  const isExtended = (bits & flags.extended) !== 0;
  const more = isExtended ? index.readUInt16BE(flagsAt + 2) : 0;
  const isSkipped = (more & flags.skipWorktree) !== 0;
  let name = flagsAt + (isExtended ? 4 : 2);
  const given = bits & flags.nameLength;
  if (version < 4) {
    const nameLength = given < flags.nameLength ? given : textLength(index, name);
    if (nameLength > maxNameBytes) throw new RangeError('too long a name');
    const size = name - at + nameLength;
    // One to eight zero bytes follow the name. They make the size a multiple of eight.
    const end = at + (size - (size % 8) + 8);
    return { nameLength, nameStart: name, addedLength: nameLength, end, isSkipped };
  }
  // In version 4, this number tells how many bytes to remove from the end of the previous name.
  const removed = numberAt(index, name);
  name = removed.end;
  const kept = previousLength - removed.value;
  if (kept < 0) throw new RangeError('a name shorter than nothing');
  const added = textLength(index, name);
  const nameLength = kept + added;
  if (nameLength > maxNameBytes) throw new RangeError('too long a name');
  // Git relies on this length. A wrong length would make git read different entries than this function.
  if (given < flags.nameLength && given !== nameLength) throw new RangeError('a wrong length');
  const end = name + added + 1;
  return { nameLength, nameStart: name, addedLength: added, end, isSkipped };
}

function textLength(index: Buffer, from: number): number {
  const end = index.indexOf(0, from);
  if (end === -1) throw new RangeError('a name without an end');
  return end - from;
}

/**
 * Reads a number in the encoding of `OFS_DELTA` in pack files: seven bits per byte, and each additional byte
 * adds one.
 */
function numberAt(index: Buffer, from: number): { readonly value: number; readonly end: number } {
  let byte = index.readUInt8(from);
  let value = byte & 0x7f;
  let end = from + 1;
  // A name has at most `maxNameBytes`, so the number has at most three bytes.
  for (; (byte & 0x80) !== 0; end++) {
    if (end - from >= 3) throw new RangeError('too large a number');
    byte = index.readUInt8(end);
    value = ((value + 1) << 7) | (byte & 0x7f);
  }
  return { value, end };
}
