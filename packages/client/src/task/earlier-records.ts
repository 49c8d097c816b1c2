import {
  type AgentEvent,
  agentEvents,
  type Batch,
  Folder,
  type FoldState,
  joinStates,
} from '@millrace/core';
import { ClientError } from '../contract/client-error.ts';
import type { Connection } from '../contract/task-handle.ts';
import type { Clock } from '../http/timing.ts';
import type { StreamTarget } from '../stream/stream-event.ts';
import { TaskStream, type TaskStreamOptions } from '../stream/task-stream.ts';

/**
 * The client reads the earlier records after this time, when the page is idle. So the page can first show the
 * recent ones.
 */
const delayMs = 250;
/** The client no longer waits for an idle page after this further time. */
const maxIdleDelayMs = 2000;

interface EarlierOptions extends Omit<TaskStreamOptions, 'target'> {
  /** The offset of the last record to read. A run ended there and left nothing open. */
  readonly through: number;
  /** The incarnation of the records that the client already has. */
  readonly incarnation: string | undefined;
  readonly wantsEvents: () => boolean;
  readonly signal: AbortSignal;
}

interface Earlier {
  readonly events: readonly AgentEvent[];
  /** Returns a state of the recent records, with the items of the earlier records. */
  readonly join: (recent: FoldState) => FoldState;
}

/**
 * Reads the records before the recent ones, when the page is idle. Rejects if the log was rewound, or if the
 * server refuses the stream.
 */
export async function readEarlier({ signal, ...options }: EarlierOptions): Promise<Earlier> {
  await idle(options.http.options.clock);
  if (signal.aborted) throw signal.reason;
  return new Promise((resolve, reject) => {
    const stop = () => {
      signal.removeEventListener('abort', stop);
      stream.stop();
      reject(signal.reason);
    };
    const target = new EarlierRecords(
      options,
      (state, events) => {
        resolve({ events, join: (recent) => joinStates(state, recent) });
        stop();
      },
      (error) => {
        reject(error);
        stop();
      },
    );
    const stream = new TaskStream({ ...options, target });
    signal.addEventListener('abort', stop);
    stream.start();
  });
}

/** Resolves when the page is idle. Only browsers can tell, and other programs need not wait. */
function idle(clock: Clock): Promise<void> {
  const { requestIdleCallback } = globalThis as {
    requestIdleCallback?: (use: () => void, options: { readonly timeout: number }) => void;
  };
  return new Promise((resolve) => {
    clock.after(delayMs, () => {
      if (requestIdleCallback === undefined) resolve();
      else requestIdleCallback(resolve, { timeout: maxIdleDelayMs });
    });
  });
}

/** Receives the records up to an offset at which a run ended. */
class EarlierRecords implements StreamTarget {
  readonly start = 'first';
  readonly isRunOpen = false;
  readonly #options: Omit<EarlierOptions, 'signal'>;
  readonly #onRead: (state: FoldState, events: readonly AgentEvent[]) => void;
  readonly #onError: (error: ClientError) => void;
  #folder: Folder;
  #events: AgentEvent[] = [];
  #incarnation: string | undefined;

  constructor(
    options: Omit<EarlierOptions, 'signal'>,
    onRead: (state: FoldState, events: readonly AgentEvent[]) => void,
    onError: (error: ClientError) => void,
  ) {
    this.#options = options;
    this.#onRead = onRead;
    this.#onError = onError;
    this.#folder = new Folder(options.taskId);
  }

  get through(): number {
    return this.#folder.state.through;
  }

  get incarnation(): string | undefined {
    return this.#incarnation;
  }

  setIncarnation(incarnation: string): void {
    this.#incarnation = incarnation;
  }

  add(batch: Batch): 'taken' | 'gap' {
    const { through: end, wantsEvents } = this.#options;
    const isTold = wantsEvents();
    const { outcome } = this.#folder.addBatch(upTo(batch, end), (before, record, after) => {
      if (isTold) this.#events.push(...agentEvents(before, record, after));
    });
    return outcome === 'gap' ? 'gap' : 'taken';
  }

  reset(): void {
    this.#folder = new Folder(this.#options.taskId);
    this.#events = [];
    this.#incarnation = undefined;
  }

  // The stream of the recent records reports the task and the connection.
  expect(): void {}
  setTask(): void {}

  setConnection(connection: Connection): void {
    if (connection.state === 'failed') this.#onError(connection.error);
    if (connection.state === 'ended') this.#onError(endedBefore(this.#options.taskId));
  }

  flush(): Promise<void> {
    const { taskId, through, incarnation } = this.#options;
    if (this.#incarnation !== incarnation && this.through > 0) this.#onError(rewound(taskId));
    else if (this.through >= through) this.#onRead(this.#folder.state, this.#events);
    // The page can react to the user between two pieces of a long log.
    return new Promise((resolve) => setTimeout(resolve));
  }
}

/** Returns the part of a batch up to an offset. No turn is open at this offset. */
function upTo(batch: Batch, end: number): Batch {
  if (batch.through <= end) return batch;
  const records = batch.records.filter(({ offset }) => offset <= end);
  return { after: batch.after, through: end, records };
}

function rewound(task: string): ClientError {
  return new ClientError('rewound', `The log of task ${task} was rewound. It is read again`, {
    task,
  });
}

function endedBefore(task: string): ClientError {
  return new ClientError('closed', `The stream of task ${task} ended before its recent records`, {
    task,
  });
}
