import { lstat } from 'node:fs/promises';
import { parentPort } from 'node:worker_threads';
import { type ProgressCell, writeProgress } from '../progress-cell.ts';
import type {
  FileMatch,
  GlobWork,
  GrepWork,
  SearchReport,
  SearchRequest,
  WorkerMessage,
} from '../search-request.ts';
import { fileSearcher } from './file-searcher.ts';
import { displayLength } from './grep-file.ts';
import { searchedFiles } from './searched-files.ts';
import { createWalkReport } from './walk-files.ts';

// This program runs in a worker thread. The main thread can terminate it at any time.

export interface WorkerInput {
  readonly request: SearchRequest;
  readonly cell: ProgressCell;
}

/** Stops the current search. The main thread starts the next search only after the end of this one. */
let stop = new AbortController();

parentPort?.on('message', (message: WorkerInput | 'stop') => {
  if (message === 'stop') stop.abort();
  else void runSearch(message);
});

async function runSearch(input: WorkerInput): Promise<void> {
  stop = new AbortController();
  try {
    send({ type: 'done', report: await runRequest(input, stop.signal) });
  } catch (error) {
    send({ type: 'failed', message: error instanceof Error ? error.message : String(error) });
  }
}

function send(message: WorkerMessage): void {
  parentPort?.postMessage(message);
}

async function runRequest(
  { request: { work, ...rest }, cell }: WorkerInput,
  signal: AbortSignal,
): Promise<SearchReport> {
  if (work.kind === 'grep') {
    return runGrep({ ...rest, work }, signal, {
      onFile: (path) => writeProgress(cell, path),
      onFound: (found) => send({ type: 'found', found: [found] }),
    });
  }
  const { found, report } = await runGlob({ ...rest, work }, signal);
  send({ type: 'found', found });
  return report;
}

interface Candidate {
  readonly path: string;
  readonly modifiedMs: number;
}

/** Returns the matching files, sorted, up to the limit. */
async function runGlob(
  request: SearchRequest & { readonly work: GlobWork },
  signal: AbortSignal,
): Promise<{ readonly found: readonly FileMatch[]; readonly report: SearchReport }> {
  const { order, limit } = request.work;
  const walk = createWalkReport();
  const candidates: Candidate[] = [];
  for await (const files of searchedFiles(request, walk, signal)) {
    for (const { path, folder, name } of files) {
      const stats =
        order === 'modified' ? await lstat(folder.pathOf(name)).catch(() => undefined) : undefined;
      candidates.push({ path, modifiedMs: stats?.mtimeMs ?? 0 });
    }
  }
  candidates.sort((a, b) => b.modifiedMs - a.modifiedMs || (a.path < b.path ? -1 : 1));
  const total = candidates.length;
  return {
    found: candidates.slice(0, limit).map(({ path }) => ({ path, matches: 0, lines: [] })),
    report: { ...walk, binary: 0, clipped: 0, total, cut: walk.cut ?? cutByLimit(total, limit) },
  };
}

function cutByLimit(total: number, limit: number): SearchReport['cut'] {
  return total > limit ? 'limit' : undefined;
}

interface GrepListener {
  /**
   * Called before a regular expression is matched against a file, because this may never finish with a bad
   * expression.
   */
  onFile(path: string): void;
  onFound(found: FileMatch): void;
}

/**
 * Searches the files one after the other. It ends after the last file, at a limit, or when the signal aborts.
 */
async function runGrep(
  request: SearchRequest & { readonly work: GrepWork },
  signal: AbortSignal,
  { onFile, onFound }: GrepListener,
): Promise<SearchReport> {
  const { work } = request;
  const walk = createWalkReport();
  const prepare = fileSearcher(work, onFile);
  let [binary, clipped, unreadable, total, counted, length] = [0, 0, 0, 0, 0, 0];
  let cut: SearchReport['cut'];
  for await (const files of searchedFiles(request, walk, signal)) {
    const search = prepare(files);
    for (const [at, file] of files.entries()) {
      const searched = search(at, work.limit - counted, work.maxLength - length);
      const result = searched instanceof Promise ? await searched : searched;
      if (result === undefined) unreadable++;
      if (result?.end === 'binary') binary++;
      if (result?.end === 'clipped') clipped++;
      if (result === undefined || result.end === 'binary' || result.matches === 0) continue;
      onFound({ path: file.path, matches: result.matches, lines: result.lines });
      total += result.matches;
      counted += work.mode === 'content' ? result.matches : 1;
      length += result.lines.reduce((sum, line) => sum + displayLength(line), file.path.length);
      if (counted >= work.limit) cut = 'limit';
      else if (length >= work.maxLength) cut = 'length';
      if (cut !== undefined || signal.aborted) break;
    }
    if (cut !== undefined) break;
  }
  const { entries, secrets, asked } = walk;
  unreadable += walk.unreadable;
  return { entries, unreadable, secrets, asked, binary, clipped, total, cut: cut ?? walk.cut };
}
