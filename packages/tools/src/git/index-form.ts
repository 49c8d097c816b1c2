import { createHash } from 'node:crypto';

/**
 * The size of the hashes in an index, in bytes: SHA-1, or SHA-256 if the settings of the repository
 * require it.
 */
export type HashBytes = 20 | 32;

/** True if the file ends with its hash, or with zeros, which git writes with the setting `index.skipHash`. */
export function hasOwnHash(index: Buffer, hashBytes: HashBytes): boolean {
  const steps = hashSteps(index, hashBytes);
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
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
