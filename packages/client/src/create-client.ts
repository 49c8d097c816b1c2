import {
  assertOptionNames,
  type JsonObject,
  type OptionNames,
  randomIds,
  type TraceContext,
} from '@millrace/core';
import { ClientError } from './contract/client-error.ts';
import type { AgentInfo, Task, TaskStatus, TaskSummary } from './contract/server-types.ts';
import type { Cancelable, CommandOptions, TaskHandle } from './contract/task-handle.ts';
import { Http, type HttpOptions } from './http/http.ts';
import { asObject, asText } from './http/refusal.ts';
import { rpc } from './http/rpc.ts';
import { type BackOff, type Clock, defaultBackOff, systemClock } from './http/timing.ts';
import { pageWakeUps, type WakeUps } from './stream/wake-ups.ts';
import { LiveTask } from './task/live-task.ts';

/** Options of `createClient`. */
export interface ClientOptions {
  /** The address of the server. On a web page, it can be relative to the page's address. */
  readonly url: string | URL;
  /**
   * The token, or a function that returns the token. The client calls the function before each request, so it
   * can return a renewed token. Default: no token is sent.
   */
  readonly token?: HttpOptions['token'];
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: HttpOptions['fetch'] | undefined;
  /** The clock for delays and timeouts. Default: the system clock. */
  readonly clock?: Clock | undefined;
  /**
   * Returns a random number from 0 up to 1. It spreads the reconnects of many clients over time. Default:
   * `Math.random`.
   */
  readonly random?: (() => number) | undefined;
  /**
   * The delays between attempts to reconnect. Default: at most 1 s after the first failure, and at most 30
   * s later.
   */
  readonly backOff?: Partial<BackOff> | undefined;
  /**
   * The interval of the server's heartbeats, in milliseconds. After 2.5 intervals without data, the client
   * reconnects. Default: 15,000.
   */
  readonly heartbeatMs?: number | undefined;
  /**
   * The time for which a stream stays open after its last subscriber has left, in milliseconds. Default:
   * 5,000.
   */
  readonly lingerMs?: number | undefined;
  /**
   * Which records of a task a handle reads first. `recent`: the handle of a long task first reads the recent
   * runs, so that an application can show the end of the conversation. It then reads the earlier records, and
   * `TaskSnapshot.isWhole` becomes true. Default: `all`.
   */
  readonly firstRecords?: 'all' | 'recent' | undefined;
  /** The timeout of requests that are safe to repeat, in milliseconds. Default: 30,000. */
  readonly answerTimeoutMs?: number | undefined;
  /**
   * Returns the trace context for a message, a command or a new task. The client calls it once for each of
   * them, and not again for a retry. It sends the trace context in the W3C headers `traceparent` and
   * `tracestate`. The resulting runs, model requests and tool calls belong to this trace. Default: no trace
   * is sent.
   */
  readonly trace?: (() => TraceContext | undefined) | undefined;
  /**
   * Calls a listener at events after which an early reconnect can succeed. Default: the browser events of the
   * page.
   */
  readonly wakeUps?: WakeUps | undefined;
}

const optionNames: OptionNames<ClientOptions> = {
  url: true,
  token: true,
  fetch: true,
  clock: true,
  random: true,
  backOff: true,
  heartbeatMs: true,
  lingerMs: true,
  firstRecords: true,
  answerTimeoutMs: true,
  trace: true,
  wakeUps: true,
};

/** Selects the tasks of a list. */
export interface TaskFilter {
  /** The name of the agent. */
  readonly agent?: string | undefined;
  readonly status?: TaskStatus | undefined;
  /** A text that the title, the name or the id must contain. The case of letters does not matter. */
  readonly search?: string | undefined;
  readonly limit?: number | undefined;
  /** The value of `next` on the previous page. */
  readonly cursor?: string | undefined;
}

/** One page of a list. */
export interface Page<T> {
  readonly data: readonly T[];
  /** The cursor of the next page. Undefined on the last page. */
  readonly next: string | undefined;
}

/** A task to create. */
export interface NewTask {
  /** The name of the agent. */
  readonly agent: string;
  /** The name of the task. If a task with this name exists, the client returns that task. */
  readonly name?: string | undefined;
  readonly params?: JsonObject | undefined;
}

/** A client of one server. */
export interface Client {
  /** Lists the agents of the server. */
  agents(options?: Cancelable): Promise<readonly AgentInfo[]>;
  /** Lists tasks page by page. The most recently changed task comes first. */
  tasks(filter?: TaskFilter, options?: Cancelable): Promise<Page<TaskSummary>>;
  /** Creates a task and returns its handle. */
  createTask(task: NewTask, options?: CommandOptions): Promise<TaskHandle>;
  /**
   * Returns the handle of a task. While a handle is in use, later calls with the same id return the same
   * handle.
   */
  task(id: string): TaskHandle;
  /**
   * Returns the handle of a sub-agent's session, at any depth below a task. A client that may read the task
   * may read this session. Its questions are answered with the handle of the task.
   */
  subAgent(taskId: string, sessionId: string): TaskHandle;
  /** Closes all handles. Runs on the server continue. */
  close(): void;
}

/**
 * Creates a client for one server. It sends nothing until a method is called.
 *
 * @example
 * const client = createClient({ url: 'http://localhost:8787' });
 * const task = await client.createTask({ agent: 'weather' });
 * await task.send('How is the weather in Bath?');
 * const { items } = await task.until(({ isRunning, items }) => items.length > 1 && !isRunning);
 */
export function createClient(options: ClientOptions): Client {
  assertOptionNames('createClient', options, optionNames, (message, option) => {
    return new ClientError('bad_option', message, { option });
  });
  const { heartbeatMs = 15_000, lingerMs = 5000, wakeUps = pageWakeUps } = options;
  const { firstRecords = 'all' } = options;
  const http = new Http({
    url: options.url,
    token: options.token,
    // A browser's `fetch` throws if it is called as a method of a different object.
    fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    backOff: { ...defaultBackOff, ...options.backOff },
    answerTimeoutMs: options.answerTimeoutMs ?? 30_000,
    trace: options.trace,
  });
  const ids = randomIds((bytes) => crypto.getRandomValues(bytes));
  const newKey = () => ids.session();
  const handles = new TaskHandles(
    ({ id, path }, onClose) =>
      new LiveTask({
        ...{ http, id, path, newKey, heartbeatMs, lingerMs, wakeUps, firstRecords, onClose },
      }),
  );
  return {
    agents: (given) => listAgents(http, given),
    tasks: (filter, given) => listTasks(http, filter, given),
    createTask: async (task, given) =>
      handles.get(taskAt(await createTask(http, task, { ...given, key: given?.key ?? newKey() }))),
    task: (id) => handles.get(taskAt(id)),
    subAgent: (taskId, id) =>
      handles.get({ id, path: `${taskAt(taskId).path}/sub-agents/${encodeURIComponent(id)}` }),
    close: () => handles.close(),
  };
}

async function listAgents(http: Http, { signal }: Cancelable = {}): Promise<readonly AgentInfo[]> {
  const query = { limit: 1000 };
  const call = { what: 'list agents', path: '/agents', query, signal, isSafe: true };
  return asList<AgentInfo>((await http.json(call)).value, call.what);
}

async function listTasks(
  http: Http,
  { agent, status, search, limit, cursor }: TaskFilter = {},
  { signal }: Cancelable = {},
): Promise<Page<TaskSummary>> {
  const query = { agent_name: agent, status, search, limit, cursor };
  const call = { what: 'list tasks', path: '/tasks', query, signal, isSafe: true };
  const { value, headers } = await http.json(call);
  const data = asList<TaskSummary>(value, call.what);
  return { data, next: headers.get('x-next-cursor') ?? undefined };
}

async function createTask(
  http: Http,
  { agent, name, params }: NewTask,
  { key, signal }: CommandOptions,
): Promise<string> {
  const what = `create a task of agent ${agent}`;
  const made = await rpc(http, {
    ...{ what, agent, method: 'task/create', key, signal, isSafe: true },
    params: { ...(name !== undefined && { name }), ...(params && { params }) },
  });
  const id = asText(asObject(made)['id']);
  if (id !== undefined) return id satisfies Task['id'];
  throw new ClientError('bad_answer', `Cannot ${what}: the answer is no task`);
}

function asList<T>(value: unknown, what: string): readonly T[] {
  if (Array.isArray(value)) return value;
  throw new ClientError('bad_answer', `Cannot ${what}: the answer is no list`);
}

/** A session and the path of its routes. */
interface SessionPlace {
  readonly id: string;
  readonly path: string;
}

function taskAt(id: string): SessionPlace {
  return { id, path: `/tasks/${encodeURIComponent(id)}` };
}

/**
 * Stores one handle per task while the application uses it. The references are weak, so unused handles can be
 * garbage-collected.
 */
class TaskHandles {
  readonly #make: (place: SessionPlace, onClose: () => void) => TaskHandle;
  readonly #known = new Map<string, WeakRef<TaskHandle>>();
  readonly #lost = new FinalizationRegistry<string>((path) => {
    // A new handle may have replaced the one that was collected.
    if (this.#known.get(path)?.deref() === undefined) this.#known.delete(path);
  });

  constructor(make: (place: SessionPlace, onClose: () => void) => TaskHandle) {
    this.#make = make;
  }

  get(place: SessionPlace): TaskHandle {
    const { path } = place;
    const known = this.#known.get(path)?.deref();
    if (known !== undefined) return known;
    const handle = this.#make(place, () => this.#known.delete(path));
    this.#known.set(path, new WeakRef(handle));
    this.#lost.register(handle, path);
    return handle;
  }

  close(): void {
    for (const known of [...this.#known.values()]) known.deref()?.close();
  }
}
