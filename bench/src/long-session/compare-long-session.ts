import { fork } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sessionStates } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { firstMessage } from '../../../scripts/child-message.ts';
import type { AgentCosts } from './agent-program.ts';
import { fillSession } from './long-agent.ts';
import { measureServer, type ServerCosts } from './measure-server.ts';
import { startWordsServer, wordsClient } from './words-server.ts';

type Costs = AgentCosts & ServerCosts;

/** The two lengths that are compared, in records. */
const lengths = [10_000, 1_000_000] as const;
const acceptable = 1.5;
const acceptableRssMb = 300;

/** The rows of the table: the measured value and its title. */
const rows: readonly (readonly [keyof Costs, string])[] = [
  ['open', 'open: the first message in a process'],
  ['message', 'message: a later one'],
  ['settle', 'settle a turn'],
  ['listing', 'list sessions'],
  ['serverOpen', 'server, first message'],
  ['serverMessage', 'server, later message'],
  ['serverListing', 'server, 50 messages'],
  ['streamOpen', 'server, first stream, with a cursor'],
];

/**
 * Compares the costs of a long session with those of a short one. The costs are CPU milliseconds of
 * a process that has no part of the session in memory at its start.
 */
export async function compareLongSession(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-long-'));
  try {
    const measured: Costs[] = [];
    for (const length of lengths) {
      const task = await fill(join(folder, `${length}`), length);
      measured.push(await measure(join(folder, `${length}`), task));
    }
    print(measured);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * Creates a server's task with this many records. Returns the id of the task, which is also the id
 * of its session.
 */
async function fill(folder: string, length: number): Promise<string> {
  mkdirSync(folder);
  const log = sqliteLog({ path: join(folder, 'log.db'), commitIntervalMs: 0 });
  const server = await startWordsServer(folder, log);
  const client = wordsClient(server.url);
  const task = await client.createTask();
  const startedAt = performance.now();
  await fillSession(log, task, length);
  // The last messages are sent through the server, so that the server has stored its own data about
  // the task.
  for (let message = 0; message < 3; message++) await client.send(task);
  await sessionStates(log).saved();
  await server[Symbol.asyncDispose]();
  const seconds = (performance.now() - startedAt) / 1000;
  console.log(`${length} records were written in ${seconds.toFixed(0)} s`);
  await log.close();
  return task;
}

/** Measures in separate processes, which have no part of the session in memory. */
async function measure(folder: string, task: string): Promise<Costs> {
  const agent = fork(join(import.meta.dirname, 'agent-program.ts'), [folder, task]);
  return { ...(await firstMessage<AgentCosts>(agent)), ...(await measureServer(folder, task)) };
}

function print([short, long]: readonly Costs[]): void {
  if (short === undefined || long === undefined) return;
  console.log(`\nCPU in ms at ${lengths.join(' and ')} records (limit ${acceptable} ×)`);
  for (const [name, what] of rows) {
    const ratio = long[name] / short[name];
    const times = `${short[name].toFixed(1)} → ${long[name].toFixed(1)}`;
    console.log(`${what.padEnd(40)} ${times.padStart(18)}  ${ratio.toFixed(2)} ×`);
  }
  for (const [name, when] of [
    ['rssMb', 'after messages'],
    ['listedRssMb', 'after a list of messages'],
    ['streamedRssMb', 'during a stream of all records'],
  ] as const) {
    const rss = `${short[name].toFixed(0)} → ${long[name].toFixed(0)} MB`;
    console.log(`RSS of the server ${when}: ${rss} (limit ${acceptableRssMb} MB)`);
  }
}
