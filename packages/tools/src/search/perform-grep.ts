import { lengthOf } from './context-window.ts';
import { type FileMatches, grepFile } from './grep-file.ts';
import type { Found, GrepWork, SearchReport, SearchRequest } from './search-request.ts';
import { openWalked, searchedFiles } from './searched-files.ts';
import { newReport, type WalkedFile } from './walk-files.ts';

export interface GrepListener {
  /** Which file comes next. A bad pattern may never come out of it. */
  onFile(path: string): void;
  onFound(found: Found): void;
}

/** Looks through one file after the other until all are done, enough is found, or the signal says so. */
export async function performGrep(
  request: SearchRequest & { readonly work: GrepWork },
  signal: AbortSignal,
  { onFile, onFound }: GrepListener,
): Promise<SearchReport> {
  const { work } = request;
  const walk = newReport();
  let [binary, clipped, unreadable, total, counted, length] = [0, 0, 0, 0, 0, 0];
  let cut: SearchReport['cut'];
  for await (const file of searchedFiles(request, walk, signal)) {
    onFile(file.path);
    const result = await grepWalked(file, work, work.limit - counted, work.maxLength - length);
    if (result === undefined) unreadable++;
    if (result?.end === 'binary') binary++;
    if (result?.end === 'clipped') clipped++;
    if (result === undefined || result.end === 'binary' || result.matches === 0) continue;
    onFound({ path: file.path, matches: result.matches, lines: result.lines });
    total += result.matches;
    counted += work.mode === 'content' ? result.matches : 1;
    length += result.lines.reduce((sum, line) => sum + lengthOf(line), file.path.length);
    if (counted >= work.limit) cut = 'limit';
    else if (length >= work.maxLength) cut = 'length';
    if (cut !== undefined) break;
  }
  const { entries } = walk;
  unreadable += walk.unreadable;
  return { entries, unreadable, binary, clipped, total, cut: cut ?? walk.cut };
}

async function grepWalked(
  file: WalkedFile,
  { pattern, mode, contextLines }: GrepWork,
  limit: number,
  maxLength: number,
): Promise<FileMatches | undefined> {
  const handle = await openWalked(file);
  try {
    return await (handle &&
      grepFile(handle.fd, {
        regex: new RegExp(pattern.source, pattern.flags),
        contextLines,
        maxMatches: { content: limit, files: 1, count: Number.POSITIVE_INFINITY }[mode],
        maxLength: mode === 'content' ? maxLength : 0,
      }));
  } finally {
    await handle?.close();
  }
}
