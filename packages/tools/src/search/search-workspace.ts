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
import { takeSearchThread } from './search-thread.ts';

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

/** Runs a search in a worker thread, because a slow pattern would block the main thread. */
async function runSearchWorker(
  request: SearchRequest,
  { signal, clock, timeoutMs }: RunSearchOptions,
): Promise<SearchResult> {
  signal.throwIfAborted();
  const cell = createProgressCell();
  const thread = takeSearchThread();
  const found: FileMatch[] = [];
  const ended = Promise.withResolvers<SearchReport | undefined>();
  const onMessage = (message: WorkerMessage) => {
    if (message.type === 'found') found.push(...message.found);
    else if (message.type === 'done') ended.resolve(message.report);
    else ended.reject(new Error(message.message));
  };
  thread.start({ request, cell }, { onMessage, onFailure: ended.reject });
  const onAbort = () => ended.reject(signal.reason);
  signal.addEventListener('abort', onAbort);
  const cancels = [
    clock.after(timeoutMs, () => thread.stop()),
    clock.after(timeoutMs + graceMs, () => ended.resolve(undefined)),
  ];
  let report: SearchReport | undefined;
  try {
    report = await ended.promise;
    return { found, report, lastPath: readProgress(cell) };
  } finally {
    for (const cancel of cancels) cancel();
    signal.removeEventListener('abort', onAbort);
    // Without a report, the thread may still be busy with this search.
    if (report === undefined) await thread.terminate();
    else thread.release();
  }
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
  // The path must still lead to the place that the policy checked. The worker follows no links below the
  // root, so the check here is enough.
  assertJudged(place, judged);
  const { exists, segments, shown } = place;
  // The path does not exist. Opening it throws the most helpful error.
  if (!exists) await (await workspace.open(path)).handle.close();
  const { exclude, policies, searchSecrets, maxEntries } = settings;
  const rules = [
    { root: workspace.root, exclude, asked: [] },
    ...policies.map((policy) => ({
      root: policy.root,
      exclude: policy.deniedPaths(search.work.kind),
      asked: search.work.kind === 'grep' ? policy.askedPaths('grep') : [],
    })),
  ];
  const limits = { rules, searchSecrets, maxEntries, maxDepth };
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
