import { runAtOnce, runInSlices } from '../slices.ts';
import { type EntryStart, findExtension, findExtensionRisk } from './index-extensions.ts';
import {
  entryAt,
  type HashBytes,
  hashSteps,
  hasOwnHash,
  type IndexFile,
  isSafeName,
  isUsualPath,
} from './index-form.ts';

/** The size of the header, in bytes. */
const headerBytes = 12;
const modeOffset = 24;

const fileTypes = {
  ...{ mask: 0o170000, file: 0o100000, link: 0o120000, submodule: 0o160000, folder: 0o040000 },
} as const;

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
  return runAtOnce(riskSteps(index));
}

/** Like `findIndexRisk`, but it lets other work of the process run. A large index needs seconds. */
export async function findIndexRiskInSlices(index: Buffer): Promise<string | undefined> {
  return runInSlices(riskSteps(index));
}

function* riskSteps(index: Buffer): Generator<undefined, string | undefined> {
  try {
    return yield* findRisk(index);
  } catch (error) {
    // A number in the index points outside the file.
    if (error instanceof RangeError) return 'the index is damaged';
    throw error;
  }
}

/**
 * Returns the paths of the submodules in an index and in the `shared` file of a split index. Returns undefined if the
 * index does not have exactly the form that git writes. Git may then read different entries than this function, or
 * write files to unusual places. With `mayFold`, an entry can stand for a whole folder, as in a sparse index.
 */
export function submodulePaths(index: Buffer, parts: IndexParts): readonly string[] | undefined {
  const form = { isStrict: true, mayFold: parts.mayFold };
  const found = readAllPaths(index, parts, (type) => type === fileTypes.submodule, form);
  return found?.every(isUsualPath) ? found : undefined;
}

/**
 * Returns the name of the shared file of a split index, or undefined if the index is not split. Throws a `RangeError`
 * if the index is damaged.
 */
export function sharedIndexName(index: Buffer, hashBytes: HashBytes): string | undefined {
  if (!index.includes('link', headerBytes, 'latin1')) return undefined;
  const form = { isStrict: false, mayFold: true };
  const { end } = readEntries({ index, hashBytes }, () => false, { bytes: maxTotalBytes }, form);
  const link = findExtension(index, 'link', end, index.length - hashBytes);
  return link && `sharedindex.${link.toString('hex', 0, hashBytes)}`;
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

/** The other parts of an index, and its format. */
export interface IndexParts {
  /** The content of the shared file of a split index. */
  readonly shared: readonly Buffer[];
  readonly hashBytes: HashBytes;
  /** True if the settings allow entries for whole folders. Default: false. */
  readonly mayFold?: boolean | undefined;
}

/** The entries that a reader accepts. */
interface EntryForm {
  /** True if the reader refuses a mode or a name that git never writes, and a wrong hash of the file. */
  readonly isStrict: boolean;
  readonly mayFold?: boolean | undefined;
}

function readAllPaths(
  index: Buffer,
  { shared, hashBytes }: IndexParts,
  isWanted: IsWanted,
  form: EntryForm = { isStrict: false },
): readonly string[] | undefined {
  try {
    const budget: NameBudget = { bytes: maxTotalBytes };
    const [main, ...others] = [index, ...shared];
    const all = [main, ...others].map((one = index) =>
      readPaths({ index: one, hashBytes }, isWanted, budget, {
        ...form,
        isSplit: one === main && others.length > 0,
      }),
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
  form: EntryForm & { readonly isSplit: boolean },
): readonly string[] | undefined {
  const { index, hashBytes } = file;
  if (form.isStrict && !hasOwnHash(index, hashBytes)) return undefined;
  const { found, starts, end } = readEntries(file, isWanted, budget, form);
  const risk = findExtensionRisk(index, end, index.length - hashBytes, starts, form);
  return risk === undefined ? found : undefined;
}

/** The wanted paths of an index, the places of all entries, and the offset of their end. */
interface ReadEntries {
  readonly found: readonly string[];
  readonly starts: readonly EntryStart[];
  readonly end: number;
}

/** Reads the entries of an index. Throws a `RangeError` if it has a different form. */
function readEntries(...about: Parameters<typeof entrySteps>): ReadEntries {
  return runAtOnce(entrySteps(...about));
}

/** The number of entries after which other work may run. They need some milliseconds. */
const entriesInStep = 2000;

/** Like `readEntries`. The caller can pause it between two steps. */
function* entrySteps(
  file: IndexFile,
  isWanted: IsWanted,
  budget: NameBudget,
  { isStrict, mayFold = false, isSplit = false }: EntryForm & { readonly isSplit?: boolean },
): Generator<undefined, ReadEntries> {
  const { index } = file;
  const version = index.readUInt32BE(4);
  if (index.toString('latin1', 0, 4) !== 'DIRC' || version < 2 || version > 4)
    throw new RangeError('an unknown format');
  const count = index.readUInt32BE(8);
  const found: string[] = [];
  const starts: EntryStart[] = [];
  let previous: Buffer = Buffer.alloc(0);
  let at = headerBytes;
  while (starts.length < count) {
    if (starts.length % entriesInStep === 0) yield;
    const entry = entryAt(file, at, version, previous.length);
    budget.bytes -= entry.nameLength;
    if (budget.bytes < 0) throw new RangeError('too many names');
    const keptLength = entry.nameLength - entry.addedLength;
    const mode = index.readUInt32BE(at + modeOffset);
    // Git ignores the upper half of the mode and the permissions of a submodule.
    const type = mode & fileTypes.mask;
    const isFound = isWanted(type, entry.isSkipped);
    if (version === 4 || isFound || isStrict) {
      const added = index.subarray(entry.nameStart, entry.nameStart + entry.addedLength);
      previous =
        keptLength === 0 ? added : Buffer.concat([previous.subarray(0, keptLength), added]);
    }
    const isFolder = mayFold && mode === fileTypes.folder;
    if (!isFolder && !entryTypes.includes(type)) throw new RangeError('an unknown type');
    if (isStrict) {
      const name = previous.toString('latin1');
      // In a split index, an entry without a name replaces an entry of the shared file.
      const isReplacement = isSplit && name === '';
      const path = isFolder ? name.replace(/\/$/, '') : name;
      if (!(isFolder || modes.includes(mode)) || !(isReplacement || isSafeName(path)))
        throw new RangeError('an entry that git does not write');
    }
    if (isFound) found.push(previous.toString('utf8'));
    starts.push({ at, isWhole: keptLength === 0 });
    at = entry.end;
  }
  return { found, starts, end: at };
}

/** The modes that git writes, except the mode of a folder in a sparse index. */
const modes: readonly number[] = [0o100644, 0o100755, fileTypes.link, fileTypes.submodule];

function* findRisk(index: Buffer): Generator<undefined, string | undefined> {
  const version = index.readUInt32BE(4);
  if (index.toString('latin1', 0, 4) !== 'DIRC' || version < 2 || version > 4)
    return 'the index has an unknown format';
  const file = { index, hashBytes: 20 } as const;
  let hasOther = false;
  const seeType = (type: number) => {
    hasOther ||= type !== fileTypes.file && type !== fileTypes.link;
    return false;
  };
  const budget: NameBudget = { bytes: maxTotalBytes };
  const form = { isStrict: true, mayFold: true };
  const { starts, end } = yield* entrySteps(file, seeType, budget, form);
  if (hasOther) return 'the index has a submodule or a sparse folder';
  const risk = findExtensionRisk(index, end, index.length - file.hashBytes, starts);
  yield;
  return risk ?? ((yield* hashSteps(index, file.hashBytes)) ? undefined : 'the index is damaged');
}
