import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomIds } from '@millrace/core';
import { type Clock, type Log, memoryLog, systemClock } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { onTestFinished } from 'vitest';
import type { Content } from '../../contract/content.ts';
import type { TaskMessage, Update, UpdateInput } from '../../contract/message.ts';
import type { Rows } from '../../contract/rows.ts';
import type { ServedAgent } from '../../contract/served-agent.ts';
import type { Answer } from '../../contract/service.ts';
import type { Task } from '../../contract/task.ts';
import { memoryRows } from '../../rows/memory-rows.ts';
import {
  createTaskService,
  type RunningTaskService,
  type TaskServiceOptions,
} from '../../tasks/create-task-service.ts';

/** A task service with agents, its log and its rows. */
export interface TaskHarness {
  readonly service: RunningTaskService;
  readonly log: Log;
  readonly rows: Rows;
  readonly diagnostics: readonly string[];
  /** Returns the id of the agent with this name. */
  idOf(name: string): Promise<string>;
  newTask(name: string): Promise<Task>;
  /** Sends a text and returns the answer. */
  send(name: string, taskId: string, text: string): Promise<Answer>;
  task(taskId: string): Promise<Task>;
  messages(taskId: string): Promise<readonly TaskMessage[]>;
}

export interface TaskHarnessOptions extends Partial<TaskServiceOptions> {
  readonly store?: 'memory' | 'sqlite';
}

export const ids = randomIds((bytes) => crypto.getRandomValues(bytes));

/** Starts a task service for a test and closes it at the end of the test. */
export async function createTaskHarness(
  agents: readonly ServedAgent[] | ((log: Log) => readonly ServedAgent[]),
  { store = 'memory', ...own }: TaskHarnessOptions = {},
): Promise<TaskHarness> {
  const clock: Clock = own.clock ?? systemClock;
  const log = own.log ?? (store === 'sqlite' ? createFileLog() : memoryLog({ clock }));
  const rows = own.rows ?? memoryRows({ clock });
  const diagnostics: string[] = [];
  const service = createTaskService({
    ...{ log, rows, clock, ids, secret: 'a secret', graceMs: 50 },
    onDiagnostic: (problem) => void diagnostics.push(problem),
    ...own,
    agents: typeof agents === 'function' ? agents(log) : agents,
  });
  await service.start();
  onTestFinished(async () => {
    await service.close();
    if (own.log === undefined) await log.close();
  });
  const idOf = async (name: string) => (await service.agents.get({ name })).id;
  return {
    ...{ service, log, rows, diagnostics, idOf },
    newTask: async (name) => service.tasks.create(await idOf(name), {}),
    send: async (name, task_id, text) =>
      service.tasks.sendMessage(await idOf(name), { task_id, content: userText(text) }),
    task: (id) => service.tasks.get({ id }),
    messages: async (taskId) => {
      const page = { limit: 1000, pageNumber: 1, orderBy: 'created_at' } as const;
      const { data } = await service.messages.list({
        ...{ ...page, taskId, direction: 'asc', filters: [] },
      });
      return data;
    },
  };
}

function createFileLog(): Log {
  const folder = temporaryFolder();
  return sqliteLog({ path: join(folder, 'log.db') });
}

/** Creates a folder that is removed at the end of the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tasks-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function userText(content: string): Content {
  return textBy('user', content);
}

export function agentText(content: string): Content {
  return textBy('agent', content);
}

function textBy(author: Content['author'], content: string): Content {
  return { type: 'text', author, content, style: 'static', format: 'plain', attachments: null };
}

export function textDelta(index: number, text_delta: string): UpdateInput {
  return { type: 'delta', index, delta: { type: 'text', text_delta } };
}

export async function collect<T>(source: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const one of source) found.push(one);
  return found;
}

/** Returns a clock that advances with every reading, so that all times differ. */
export function tickingClock(): Clock {
  let now = Date.UTC(2026, 0, 1);
  return { ...systemClock, now: () => ++now };
}

/** Returns the texts of messages. */
export function textsOf(messages: readonly TaskMessage[]): readonly string[] {
  return messages.map(({ content }) =>
    content.type === 'text' ? content.content : JSON.stringify(content),
  );
}

/** Returns the types of updates. Consecutive deltas count as one, because the log may merge them. */
export function typesOf(updates: readonly Update[]): readonly string[] {
  const types = updates.map(({ type, index }) => `${type} ${index}`);
  return types.filter((type, place) => !type.startsWith('delta') || type !== types[place - 1]);
}

/** Waits until the condition is true. It uses no timers, and other work runs between two checks. */
export async function eventually(isSo: () => Promise<boolean>): Promise<void> {
  for (let looks = 0; looks < 2_000_000; looks++) {
    if (await isSo()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error('The condition did not become true');
}
