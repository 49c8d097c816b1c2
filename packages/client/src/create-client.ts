import { type JsonObject, randomIds, type TraceContext } from '@millrace/core';
import { ClientError } from './client-error.ts';
import { type Clock, systemClock } from './clock.ts';
import { type BackOff, defaultBackOff } from './http/back-off.ts';
import { Http, type HttpOptions } from './http/http.ts';
import { asObject, asText } from './http/refusal.ts';
import { rpc } from './http/rpc.ts';
import { pageWakeUps, type WakeUps } from './stream/wake-ups.ts';
import { LiveTask } from './task/live-task.ts';
import type { Cancelable, CommandOptions, TaskHandle } from './task/task-handle.ts';
import { TaskHandles } from './task-handles.ts';
import type { AgentInfo } from './wire/agent-info.ts';
import type { Task, TaskStatus, TaskSummary } from './wire/task.ts';

export interface ClientOptions {
  /** Where the server is; in a page, it may be relative to that. */
  readonly url: string | URL;
  /** A function is asked before each request, so that a token can be renewed. */
  readonly token?: HttpOptions['token'];
  readonly fetch?: HttpOptions['fetch'] | undefined;
  readonly clock?: Clock | undefined;
  /** From 0 up to 1, for how long to wait before coming back. */
  readonly random?: (() => number) | undefined;
  readonly backOff?: Partial<BackOff> | undefined;
  /** How often the server gives a sign of life; 15 s unless told. Silence of 2.5 of them is death. */
  readonly heartbeatMs?: number | undefined;
  /** How long a stream that nobody listens to stays open; 5 s unless told. */
  readonly lingerMs?: number | undefined;
  /** How long an answer may take, where asking again does no harm; 30 s unless told. */
  readonly answerTimeoutMs?: number | undefined;
  /**
   * What is sent is part of: asked for once for each message, command and new task, and sent as W3C's
   * `traceparent`. Their runs, requests and tools are then in that trace.
   */
  readonly trace?: (() => TraceContext | undefined) | undefined;
  /** What hastens coming back: the page's own events unless told. */
  readonly wakeUps?: WakeUps | undefined;
}

export interface TaskFilter {
  /** The agent's name. */
  readonly agent?: string | undefined;
  readonly status?: TaskStatus | undefined;
  /** Is in the title, the name or the id, whatever the case. */
  readonly search?: string | undefined;
  readonly limit?: number | undefined;
  /** What `next` of the page before said. */
  readonly cursor?: string | undefined;
}

export interface Page<T> {
  readonly data: readonly T[];
  /** Where it goes on; undefined at the end. */
  readonly next: string | undefined;
}

export interface NewTask {
  /** The agent's name. */
  readonly agent: string;
  /** A task of that name is taken up where there is one. */
  readonly name?: string | undefined;
  readonly params?: JsonObject | undefined;
}

export interface Client {
  agents(options?: Cancelable): Promise<readonly AgentInfo[]>;
  /** The last changed first, page by page. */
  tasks(filter?: TaskFilter, options?: Cancelable): Promise<Page<TaskSummary>>;
  createTask(task: NewTask, options?: CommandOptions): Promise<TaskHandle>;
  /** The same handle for the same id, as long as somebody has it. */
  task(id: string): TaskHandle;
  /** Closes all handles. What goes on on the server goes on. */
  close(): void;
}

/** A client of one server. It does nothing until it is asked to. */
export function createClient(options: ClientOptions): Client {
  const { heartbeatMs = 15_000, lingerMs = 5000, wakeUps = pageWakeUps } = options;
  const http = new Http({
    url: options.url,
    token: options.token,
    // Called as a method of something else, a browser's fetch refuses.
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
    (id, onClose) => new LiveTask({ http, id, newKey, heartbeatMs, lingerMs, wakeUps, onClose }),
  );
  return {
    agents: (given) => listAgents(http, given),
    tasks: (filter, given) => listTasks(http, filter, given),
    createTask: async (task, given) =>
      handles.get(await createTask(http, task, { ...given, key: given?.key ?? newKey() })),
    task: (id) => handles.get(id),
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
