import { lstat } from 'node:fs/promises';
import type { Found, GlobWork, SearchReport, SearchRequest } from './search-request.ts';
import { searchedFiles } from './searched-files.ts';
import { newReport } from './walk-files.ts';

interface Candidate {
  readonly path: string;
  readonly modifiedMs: number;
}

/** All files that fit, in order, as many as were asked for. */
export async function performGlob(
  request: SearchRequest & { readonly work: GlobWork },
  signal: AbortSignal,
): Promise<{ readonly found: readonly Found[]; readonly report: SearchReport }> {
  const { order, limit } = request.work;
  const walk = newReport();
  const candidates: Candidate[] = [];
  for await (const { path, folder, name } of searchedFiles(request, walk, signal)) {
    const stats =
      order === 'modified' ? await lstat(folder.at(name)).catch(() => undefined) : undefined;
    candidates.push({ path, modifiedMs: stats?.mtimeMs ?? 0 });
  }
  candidates.sort((a, b) => b.modifiedMs - a.modifiedMs || (a.path < b.path ? -1 : 1));
  const total = candidates.length;
  return {
    found: candidates.slice(0, limit).map(({ path }) => ({ path, matches: 0, lines: [] })),
    report: { ...walk, binary: 0, clipped: 0, total, cut: walk.cut ?? cutBy(total, limit) },
  };
}

function cutBy(total: number, limit: number): SearchReport['cut'] {
  return total > limit ? 'limit' : undefined;
}
