import type { SpanExporter } from '@millrace/agent';
import type { Ids } from '@millrace/core';
import type { Clock, Log } from '@millrace/log';
import type { Rows } from '../contract/rows.ts';
import type { SpanService, TrackerService } from '../contract/service.ts';
import type { JournalPool } from '../journal/journal-pool.ts';
import type { FileStore } from '../stores/file-store.ts';
import type { StorageHealth } from '../stores/storage-health.ts';
import type { TaskStore } from '../stores/task-store.ts';
import type { LogEvent } from './run-log.ts';
import type { TaskQueues } from './task-queues.ts';

/** The services that all agent runners share. */
export interface RunnerOptions {
  readonly log: Log;
  readonly rows: Rows;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly spans: SpanService;
  readonly trackers: TrackerService;
  readonly tasks: TaskStore;
  readonly files: FileStore;
  readonly journals: JournalPool;
  readonly queues: TaskQueues;
  readonly graceMs: number;
  /** Receives the errors of failed writes. */
  readonly storage: Pick<StorageHealth, 'report'>;
  /** Receives the spans of runs. */
  readonly exporter?: SpanExporter | undefined;
  /** Logs failures of runs for the operator. Default: failures are not logged. */
  readonly logEvent?: LogEvent | undefined;
  /** Receives a description of a problem that has no effect on the task. */
  readonly onDiagnostic: (problem: string) => void;
}
