import { closeSync, fstatSync, readSync } from 'node:fs';
import type { GrepWork } from '../search-request.ts';
import { type FileMatches, grepFile, quickRegex } from './grep-file.ts';
import { requiredText } from './required-text.ts';
import { type OpenedFile, openUnchecked, openWalkedFile } from './searched-files.ts';
import type { WalkedFile } from './walk-files.ts';

const noMatches: FileMatches = { matches: 0, lines: [], end: 'text' };
const binaryFile: FileMatches = { matches: 0, lines: [], end: 'binary' };

type SearchFile = (
  file: WalkedFile,
  limit: number,
  maxLength: number,
) => FileMatches | undefined | Promise<FileMatches | undefined>;

/**
 * Returns a function that searches a file. It returns undefined if the file cannot be read. If the file has
 * no match, the function usually returns without waiting, which is much faster. `onFile` is called before a
 * regular expression is matched against a file.
 */
export function fileSearcher(
  { pattern, mode, contextLines }: GrepWork,
  onFile: (path: string) => void,
): SearchFile {
  const regex = new RegExp(pattern.source, pattern.flags);
  const prefilter = filePrefilter(regex, onFile);
  const searchLines = async (
    opened: OpenedFile,
    path: string,
    limit: number,
    maxLength: number,
  ) => {
    onFile(path);
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
  const searchNow = (file: WalkedFile, limit: number, maxLength: number) => {
    const fd = openUnchecked(file);
    if (fd === undefined) return undefined;
    let tested: Prefiltered | 'unreadable' = 'unreadable';
    try {
      tested = prefilter(fd, file.path);
      // The content of other kinds of files is not used. Only files with a possible match need this check.
      if (tested === 'maybe' && !fstatSync(fd).isFile()) tested = 'unreadable';
    } catch {
      // A folder has replaced the file, or the disk has a problem.
    }
    if (tested === 'maybe') {
      return searchLines({ fd, close: () => closeSync(fd) }, file.path, limit, maxLength);
    }
    closeSync(fd);
    return tested === 'none' ? noMatches : tested === 'binary' ? binaryFile : undefined;
  };
  return (file, limit, maxLength) => {
    if (file.folder.isHandle) return searchNow(file, limit, maxLength);
    const opened = Promise.resolve(openWalkedFile(file));
    return opened.then((one) => one && searchLines(one, file.path, limit, maxLength));
  };
}

/**
 * The result of a prefilter. `maybe` means that the file must be searched line by line. `none` means that it
 * is text without a match.
 */
type Prefiltered = 'maybe' | 'none' | 'binary';

/** Files of this length and longer ones are always searched line by line. */
const maxBytes = 131_072;

/**
 * Returns a function that quickly tests whether a file can match. It reads a small file with one call, into
 * memory that all files share. Most files of a search have no match, so most files need no further work.
 */
function filePrefilter(
  regex: RegExp,
  onRegex: (path: string) => void,
): (fd: number, path: string) => Prefiltered {
  const text = requiredText(regex);
  const required = text === undefined ? undefined : Buffer.from(text);
  const quick = quickRegex(regex);
  const memory = Buffer.alloc(maxBytes + 1 + (required?.length ?? 0));
  return (fd, path) => {
    const length = readSync(fd, memory, 0, maxBytes, 0);
    if (length === maxBytes) return 'maybe';
    // A NUL and the required text follow the content, so that both searches end there. A part of the memory
    // would be a new object for each file.
    memory[length] = 0;
    if (memory.indexOf(0) < length) return 'binary';
    if (required !== undefined) {
      for (let at = 0; at < required.length; at++) memory[length + 1 + at] = required[at] ?? 0;
      if (memory.indexOf(required) > length) return 'none';
    }
    if (quick === undefined) return 'maybe';
    onRegex(path);
    // A byte order mark at the start is not part of the first line.
    const content = memory.toString('utf8', 0, length).replace(/^\uFEFF/, '');
    return quick.test(content) ? 'maybe' : 'none';
  };
}
