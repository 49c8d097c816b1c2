import { join } from 'node:path';
import { startingRules } from '../search/worker/ignore-rules.ts';
import { createWalkReport, type WalkReport, walkFiles } from '../search/worker/walk-files.ts';
import { folderOpener } from '../workspace/folder.ts';

interface ListOptions {
  readonly maxEntries?: number;
  readonly maxDepth?: number;
  /** The number of files after which the walk is aborted. */
  readonly stopAfter?: number;
}

/** Returns all files of a walk, with their paths relative to the root. */
export async function listFiles(
  root: string,
  segments: readonly string[],
  { maxEntries = 10_000, maxDepth = 50, stopAfter = Number.POSITIVE_INFINITY }: ListOptions = {},
): Promise<{ readonly paths: readonly string[]; readonly report: WalkReport }> {
  const start = join(root, ...segments);
  const { rules, path: rulesPath } = await startingRules(root, start);
  const stop = new AbortController();
  const options = { rules, rulesPath, maxEntries, maxDepth, signal: stop.signal };
  const folder = await folderOpener(start)();
  const report = createWalkReport();
  const paths: string[] = [];
  for await (const { path } of walkFiles(folder, options, report)) {
    paths.push([...segments, path].join('/'));
    if (paths.length >= stopAfter) stop.abort();
  }
  await folder.close();
  return { paths, report };
}

// This file is also a program that runs the walk as a different user.
const [, program, root] = process.argv;
if (program === import.meta.filename && root !== undefined) {
  console.log(JSON.stringify(await listFiles(root, [])));
}
