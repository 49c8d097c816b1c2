import { Worker } from 'node:worker_threads';
import type { WorkerMessage } from './search-request.ts';
import type { WorkerInput } from './worker/search-worker.ts';

/**
 * A thread that runs one search at a time. To start a thread takes longer than to search a small workspace, so
 * the next search uses the same thread.
 */
export interface SearchThread {
  /** Starts a search. The listener receives the messages of this search, and the failure of the thread. */
  start(input: WorkerInput, listener: ThreadListener): void;
  /** Asks the search to stop. It then sends the matches found so far. */
  stop(): void;
  /** Gives the thread back after its search has sent its last message. */
  release(): void;
  /** Ends the thread, whatever it does. */
  terminate(): Promise<void>;
}

interface ThreadListener {
  onMessage(message: WorkerMessage): void;
  /** Called if the thread ends before its search. */
  onFailure(error: Error): void;
}

/** How long a thread without a search is kept, in milliseconds. */
const idleMs = 60_000;
/**
 * The memory limits of a thread. If a search needs more memory, only the search fails. The process continues.
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

interface IdleThread {
  readonly thread: SearchThread;
  /** The environment variables of the thread, as JSON. */
  readonly variables: string;
  readonly timer: NodeJS.Timeout;
}

/** At most one thread is kept. Searches at the same time start further threads. */
let idle: IdleThread | undefined;

/** Returns the thread of an earlier search, or a new one. */
export function takeSearchThread(): SearchThread {
  const variables = JSON.stringify(workerEnv());
  const kept = idle;
  if (kept === undefined) return createThread(variables);
  idle = undefined;
  clearTimeout(kept.timer);
  if (kept.variables === variables) return kept.thread;
  void kept.thread.terminate();
  return createThread(variables);
}

function createThread(variables: string): SearchThread {
  const env = JSON.parse(variables);
  const worker = new Worker(program, { resourceLimits, execArgv, env });
  let listener: ThreadListener | undefined;
  worker.on('message', (message: WorkerMessage) => listener?.onMessage(message));
  const onEnd = (error: Error) => {
    listener?.onFailure(error);
    if (idle?.thread !== thread) return;
    clearTimeout(idle.timer);
    idle = undefined;
  };
  worker.once('error', onEnd);
  worker.once('exit', () => onEnd(new Error('The search ended without a result')));
  const terminate = async () => {
    listener = undefined;
    await worker.terminate();
  };
  const thread: SearchThread = {
    terminate,
    start(input, next) {
      listener = next;
      worker.ref();
      worker.postMessage(input);
    },
    stop: () => worker.postMessage('stop'),
    release() {
      listener = undefined;
      if (idle !== undefined) return void terminate();
      // A thread without a search must not keep the process alive.
      worker.unref();
      const timer = setTimeout(() => {
        idle = undefined;
        void terminate();
      }, idleMs).unref();
      idle = { thread, variables, timer };
    },
  };
  return thread;
}

/**
 * The environment variables that a thread gets. It needs variables with folders to recognize protected
 * places. If this process caches compiled code, the thread uses the same cache and starts faster.
 */
const workerVariables = [
  ...['NODE_COMPILE_CACHE', 'HOME', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'LOCALAPPDATA'],
] as const;

function workerEnv(): NodeJS.ProcessEnv {
  const given = workerVariables.map((name) => [name, process.env[name]] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}
