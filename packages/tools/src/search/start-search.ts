import { runSearch, type SearchResult } from './run-search.ts';
import type { SearchSettings } from './search-options.ts';
import type { SearchRequest } from './search-request.ts';

/** Folders within folders. Each one on the way holds a file handle. */
const maxDepth = 100;

interface Search extends Pick<SearchRequest, 'glob' | 'work'> {
  /** As a model gives it. */
  readonly path: string;
}

/** Runs a search in a workspace. Fails, with names that may have been meant, where the path is not there. */
export async function startSearch(
  { path, ...search }: Search,
  { workspace, exclude, maxEntries, clock, timeoutMs }: SearchSettings,
  signal: AbortSignal,
): Promise<SearchResult> {
  const { exists, segments, shown } = await workspace.resolve(path);
  // To open it is what tells best why it cannot be.
  if (!exists) await (await workspace.open(path)).handle.close();
  const request = { root: workspace.root, segments, exclude, maxEntries, maxDepth, ...search };
  try {
    return await runSearch(request, { signal, clock, timeoutMs });
  } catch (error) {
    throw signal.aborted ? signal.reason : failed(shown, error);
  }
}

function failed(shown: string, cause: unknown): Error {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new Error(`Cannot search ${shown}: ${why}`, { cause });
}
