import { Worker } from 'node:worker_threads';
import type { Clock } from '@millrace/agent';
import { createProgressCell, readProgress } from './progress-cell.ts';
import type { SearchSettings } from './search-options.ts';
import type {
  FileMatch,
  SearchReport,
  SearchRequest,
  SearchResult,
  WorkerMessage,
} from './search-request.ts';
import type { WorkerInput } from './worker/search-worker.ts';

interface RunSearchOptions {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Then it ends with what it has. */
  readonly timeoutMs: number;
}

/** How long a thread that was told to stop may take. One that is in the midst of a match never hears it. */
const graceMs = 1000;
/** A search that needs more fails, rather than the process it is part of. */
const resourceLimits = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 64 };
// Beside this file, and of its kind: source when run from source, built when built. Then so are the
// packages that it uses, whatever the process itself was started with.
const isSource = import.meta.url.endsWith('.ts');
const program = new URL(
  isSource ? './worker/search-worker.ts' : './worker/search-worker.js',
  import.meta.url,
);
const execArgv = isSource ? ['--conditions=@millrace/source'] : [];

/** Searches in a thread of its own, so that no pattern can hold up the process. */
async function runSearchWorker(
  request: SearchRequest,
  { signal, clock, timeoutMs }: RunSearchOptions,
): Promise<SearchResult> {
  signal.throwIfAborted();
  const cell = createProgressCell();
  const workerData: WorkerInput = { request, cell };
  const worker = new Worker(program, { workerData, resourceLimits, execArgv, env: {} });
  const found: FileMatch[] = [];
  const ended = Promise.withResolvers<SearchReport | undefined>();
  worker.on('message', (message: WorkerMessage) => {
    if (message.type === 'found') found.push(...message.found);
    else if (message.type === 'done') ended.resolve(message.report);
    else ended.reject(new Error(message.message));
  });
  worker.once('error', (error) => ended.reject(error));
  worker.once('exit', () => ended.reject(new Error('The search ended without a result')));
  const onAbort = () => ended.reject(signal.reason);
  signal.addEventListener('abort', onAbort);
  const cancels = [
    clock.after(timeoutMs, () => worker.postMessage('stop')),
    clock.after(timeoutMs + graceMs, () => ended.resolve(undefined)),
  ];
  try {
    const report = await ended.promise;
    return { found, report, lastPath: readProgress(cell) };
  } finally {
    for (const cancel of cancels) cancel();
    signal.removeEventListener('abort', onAbort);
    await worker.terminate();
  }
}

/** Folders within folders. Each one on the way holds a file handle. */
const maxDepth = 100;

interface Search extends Pick<SearchRequest, 'glob' | 'work'> {
  /** As a model gives it. */
  readonly path: string;
}

/** Runs a search in a workspace. Fails, with names that may have been meant, where the path is not there. */
export async function searchWorkspace(
  { path, ...search }: Search,
  { workspace, exclude, maxEntries, clock, timeoutMs }: SearchSettings,
  signal: AbortSignal,
): Promise<SearchResult> {
  const { exists, segments, shown } = await workspace.resolve(path);
  // To open it is what tells best why it cannot be.
  if (!exists) await (await workspace.open(path)).handle.close();
  const request = { root: workspace.root, segments, exclude, maxEntries, maxDepth, ...search };
  try {
    return await runSearchWorker(request, { signal, clock, timeoutMs });
  } catch (error) {
    throw signal.aborted ? signal.reason : searchError(shown, error);
  }
}

function searchError(shown: string, cause: unknown): Error {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new Error(`Cannot search ${shown}: ${why}`, { cause });
}
