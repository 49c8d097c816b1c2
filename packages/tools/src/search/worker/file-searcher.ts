import { closeSync, readSync } from 'node:fs';
import type { GrepWork } from '../search-request.ts';
import { type FileMatches, grepFile, quickRegex } from './grep-file.ts';
import { requiredText } from './required-text.ts';
import { openUnchecked, openWalkedFile } from './searched-files.ts';
import type { WalkedFile } from './walk-files.ts';

const noMatches: FileMatches = { matches: 0, lines: [], end: 'text' };
const binaryFile: FileMatches = { matches: 0, lines: [], end: 'binary' };

/**
 * Searches one file of a batch. The caller must search the files in their order. The function returns
 * undefined if the file cannot be read. If the file has no match, the function usually returns without
 * waiting, which is much faster.
 */
type SearchFile = (
  at: number,
  limit: number,
  maxLength: number,
) => FileMatches | undefined | Promise<FileMatches | undefined>;

/**
 * Returns a function that prepares the search of a batch of files. Only one batch may be searched at a time.
 * `onFile` is called before a regular expression is matched against a file.
 */
export function fileSearcher(
  { pattern, mode, contextLines }: GrepWork,
  onFile: (path: string) => void,
): (files: readonly WalkedFile[]) => SearchFile {
  const regex = new RegExp(pattern.source, pattern.flags);
  const searchLines = async (file: WalkedFile, limit: number, maxLength: number) => {
    const opened = await openWalkedFile(file);
    if (opened === undefined) return undefined;
    onFile(file.path);
    try {
      return await grepFile(opened.fd, {
        regex,
        contextLines,
        maxMatches: { content: limit, files: 1, count: Number.POSITIVE_INFINITY }[mode],
        maxLength: mode === 'content' ? maxLength : 0,
      });
    } finally {
      await opened.close();
    }
  };
  const prefilter = batchPrefilter(regex, onFile);
  return (files) => {
    const isHandle = files.every(({ folder }) => folder.isHandle);
    const test = isHandle ? prefilter?.(files) : undefined;
    return (at, limit, maxLength) => {
      const tested = test?.(at) ?? 'maybe';
      const file = files[at];
      if (file === undefined || tested === 'unreadable') return undefined;
      if (tested === 'maybe') return searchLines(file, limit, maxLength);
      return tested === 'none' ? noMatches : binaryFile;
    };
  };
}

/**
 * The result of a prefilter. `maybe` means that the file must be searched line by line. `none` means that it
 * is text without a match.
 */
type Prefiltered = 'maybe' | 'none' | 'binary' | 'unreadable';

type TestFile = (at: number) => Prefiltered;

/** Files of this length and longer ones are always searched line by line. */
const maxBytes = 131_072;
/** The content of small files is read up to this length before it is tested. */
const portionBytes = 524_288;
const newline = 0x0a;
/** The first byte of a byte order mark. */
const byteOrderMark = 0xef;

/**
 * Returns a function that quickly tests whether the files of a batch can match. Returns undefined if such a
 * test cannot reject a file. The test reads many small files into the same memory, each with one call. Then it
 * searches the whole memory at once, so that a file without a match needs no search of its own. Most files of a
 * search have no match, so most files need no further work.
 */
function batchPrefilter(
  regex: RegExp,
  onRegex: (path: string) => void,
): ((files: readonly WalkedFile[]) => TestFile) | undefined {
  const text = requiredText(regex);
  const required = text === undefined ? undefined : Buffer.from(text);
  const quick = quickRegex(regex);
  if (required === undefined && quick === undefined) return undefined;
  const memory = Buffer.alloc(portionBytes + 1 + (required?.length ?? 0));
  return (files) => {
    let [first, places]: [number, readonly Place[]] = [0, []];
    let [nulAt, foundAt] = [-1, -1];
    return (at) => {
      if (at >= first + places.length) {
        [first, places] = [at, readPlaces(files, at, memory, required)];
        [nulAt, foundAt] = [-1, -1];
      }
      const place = places[at - first];
      if (place === undefined || typeof place === 'string') return place ?? 'maybe';
      const { start, end } = place;
      // Usually the first call searches the whole memory and finds nothing before its end.
      if (nulAt < start) nulAt = memory.indexOf(0, start);
      if (nulAt < end) return 'binary';
      if (required !== undefined) {
        if (foundAt < start) foundAt = memory.indexOf(required, start);
        if (foundAt >= end) return 'none';
      }
      if (quick === undefined) return 'maybe';
      onRegex(files[at]?.path ?? '');
      return quick.test(memory.toString('utf8', start, end)) ? 'maybe' : 'none';
    };
  };
}

/** The place of a file in the memory, or the reason why the file is not there. */
type Place = { readonly start: number; readonly end: number } | 'maybe' | 'unreadable';

/**
 * Reads files into the memory until it is full, and returns the place of each file. A NUL and the required
 * text follow the content, so that both searches end there.
 */
function readPlaces(
  files: readonly WalkedFile[],
  first: number,
  memory: Buffer,
  required: Buffer | undefined,
): readonly Place[] {
  const places: Place[] = [];
  let start = 0;
  for (let at = first; at < files.length && start + maxBytes <= portionBytes; at++) {
    const length = readInto(memory, start, files[at]);
    if (length === undefined) places.push('unreadable');
    // A byte order mark at the start is not part of the first line.
    else if (length === maxBytes || memory[start] === byteOrderMark) places.push('maybe');
    else {
      const end = start + length;
      places.push({ start, end });
      // No match contains a line break, so no match begins in one file and ends in the next one.
      memory[end] = newline;
      start = end + 1;
    }
  }
  memory[start] = 0;
  required?.copy(memory, start + 1);
  return places;
}

/** Reads the start of a file into the memory, and returns its length. Returns undefined if this fails. */
function readInto(memory: Buffer, start: number, file: WalkedFile | undefined): number | undefined {
  const fd = file && openUnchecked(file);
  if (fd === undefined) return undefined;
  try {
    return readSync(fd, memory, start, maxBytes, 0);
  } catch {
    // A folder has replaced the file, or the disk has a problem.
    return undefined;
  } finally {
    closeSync(fd);
  }
}
