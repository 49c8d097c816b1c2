import { parentPort, workerData } from 'node:worker_threads';
import { performGlob } from './perform-glob.ts';
import { performGrep } from './perform-grep.ts';
import { type ProgressCell, writeCell } from './progress-cell.ts';
import type { SearchReport, SearchRequest, WorkerMessage } from './search-request.ts';

// Runs in a thread of its own, which can be ended whatever it is doing.

export interface WorkerInput {
  readonly request: SearchRequest;
  readonly cell: ProgressCell;
}

const { request, cell } = workerData as WorkerInput;
const stop = new AbortController();
// The one thing it is ever told.
parentPort?.once('message', () => stop.abort());

function tell(message: WorkerMessage): void {
  parentPort?.postMessage(message);
}

async function perform({ work, ...rest }: SearchRequest): Promise<SearchReport> {
  if (work.kind === 'grep') {
    return performGrep({ ...rest, work }, stop.signal, {
      onFile: (path) => writeCell(cell, path),
      onFound: (found) => tell({ type: 'found', found: [found] }),
    });
  }
  const { found, report } = await performGlob({ ...rest, work }, stop.signal);
  tell({ type: 'found', found });
  return report;
}

try {
  tell({ type: 'done', report: await perform(request) });
} catch (error) {
  tell({ type: 'failed', message: error instanceof Error ? error.message : String(error) });
} finally {
  parentPort?.close();
}
