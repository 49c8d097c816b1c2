import { Worker } from 'node:worker_threads';
import type { Clock, ToolContext } from '@millrace/agent';
import { assertJudged } from '../workspace/resolve-path.ts';
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
  /** Maximum duration of a search, in milliseconds. Then the search returns the matches found so far. */
  readonly timeoutMs: number;
}

/**
 * The time within which the worker must stop after it was asked to stop, in milliseconds. The worker cannot
 * receive this message while it matches a regular expression.
 */
const graceMs = 1000;
/**
 * The memory limits of the worker. If a search needs more memory, only the search fails. The process
 * continues.
 */
const resourceLimits = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 64 };
// If this module runs from source, the worker also runs from source. It then needs the import condition
// `@millrace/source`, even if this process was started without that flag.
const isSource = import.meta.url.endsWith('.ts');
const program = new URL(
  isSource ? './worker/search-worker.ts' : './worker/search-worker.js',
  import.meta.url,
);
const execArgv = isSource ? ['--conditions=@millrace/source'] : [];

/** Runs a search in a worker thread, because a slow pattern would block the main thread. */
async function runSearchWorker(
  request: SearchRequest,
  { signal, clock, timeoutMs }: RunSearchOptions,
): Promise<SearchResult> {
  signal.throwIfAborted();
  const cell = createProgressCell();
  const workerData: WorkerInput = { request, cell };
  const worker = new Worker(program, { workerData, resourceLimits, execArgv, env: workerEnv() });
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

/**
 * The environment variables that the worker gets. It needs variables with folders to recognize protected
 * places. If this process caches compiled code, the worker uses the same cache and starts faster.
 */
const workerVariables = [
  ...['NODE_COMPILE_CACHE', 'HOME', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'LOCALAPPDATA'],
] as const;

function workerEnv(): NodeJS.ProcessEnv {
  const given = workerVariables.map((name) => [name, process.env[name]] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

/** Maximum depth of folders. The walk keeps a file handle open for each level. */
const maxDepth = 100;

interface Search extends Pick<SearchRequest, 'glob' | 'work'> {
  /** The path as the model sent it. */
  readonly path: string;
}

/** Runs a search in a workspace. If the path does not exist, the error suggests similar names. */
export async function searchWorkspace(
  { path, ...search }: Search,
  { workspace, clock, timeoutMs, ...settings }: SearchSettings,
  { signal, judged }: Pick<ToolContext, 'signal' | 'judged'>,
): Promise<SearchResult> {
  const place = await workspace.resolve(path);
  // The worker follows no links below the root, so it searches exactly this path.
  assertJudged(place, judged);
  const { exists, segments, shown } = place;
  // The path does not exist. Opening it throws the most helpful error.
  if (!exists) await (await workspace.open(path)).handle.close();
  const { exclude, searchSecrets, maxEntries } = settings;
  const limits = { exclude, searchSecrets, maxEntries, maxDepth };
  const request = { root: workspace.root, segments, ...limits, ...search };
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
