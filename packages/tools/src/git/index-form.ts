import { createHash } from 'node:crypto';
import { runAtOnce } from '../slices.ts';

/**
 * The size of the hashes in an index, in bytes: SHA-1, or SHA-256 if the settings of the repository
 * require it.
 */
export type HashBytes = 20 | 32;

/** True if the file ends with its hash, or with zeros, which git writes with the setting `index.skipHash`. */
export function hasOwnHash(index: Buffer, hashBytes: HashBytes): boolean {
  return runAtOnce(hashSteps(index, hashBytes));
}

/** The number of bytes to hash in one step. They need some milliseconds. */
const bytesInStep = 4_194_304;

/** Like `hasOwnHash`. The caller can pause it between two steps. */
export function* hashSteps(index: Buffer, hashBytes: HashBytes): Generator<undefined, boolean> {
  const end = index.length - hashBytes;
  if (end < 0) return false;
  const given = index.subarray(end);
  if (given.every((byte) => byte === 0)) return true;
  const hash = createHash(hashBytes === 20 ? 'sha1' : 'sha256');
  for (let at = 0; at < end; at += bytesInStep) {
    hash.update(index.subarray(at, Math.min(at + bytesInStep, end)));
    yield;
  }
  return hash.digest().equals(given);
}

/** The bytes of the characters that the file system of macOS ignores in names. */
const ignoredBytes = /\xe2\x80[\x8c-\x8f\xaa-\xae]|\xe2\x81[\xaa-\xaf]|\xef\xbb\xbf/g;

/**
 * True if git can use a path of an index without harm. The path is decoded as `latin1`. Git writes a file to any path
 * of an index, for example in `git checkout .`, even to an absolute path, a path with `..`, or a hook in `.git`.
 */
export function isSafeName(path: string): boolean {
  if (path.includes('\0')) return false;
  return !/(?:^|\/)(?:\.{0,2}|\.git|git~\d+)(?:\/|$)/i.test(path.replaceAll(ignoredBytes, ''));
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

/** An index and the size of its hashes. */
export interface IndexFile {
  readonly index: Buffer;
  readonly hashBytes: HashBytes;
}

/** The size of the fields before the hash of an entry, in bytes. Two bytes of flags follow the hash. */
const statBytes = 40;

const flags = { extended: 0x4000, nameLength: 0x0fff, skipWorktree: 0x4000 } as const;

/** Maximum length of a path in Linux, in bytes. A file with a longer path cannot exist. */
const maxNameBytes = 4096;

/** An entry of an index. */
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

/** Reads the entry at an offset. Throws a `RangeError` if git never writes such an entry. */
export function entryAt(
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
    // Other bytes would be an extension for a reader of another size of hashes.
    for (let byte = name + nameLength; byte < end; byte++)
      if (index.readUInt8(byte) !== 0) throw new RangeError('an entry without zeros at its end');
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
