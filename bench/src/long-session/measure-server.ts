import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { firstMessage } from '../../../scripts/child-message.ts';
import type { Order, ServerUsage } from './serve-program.ts';
import { type WordsClient, wordsClient } from './words-server.ts';

/** The CPU time of a server's process in milliseconds, and its memory. The client is another process. */
export interface ServerCosts {
  readonly serverOpen: number;
  readonly serverMessage: number;
  readonly serverListing: number;
  readonly rssMb: number;
  readonly listedRssMb: number;
  /** The first stream of a task in a process. Its client has a cursor. */
  readonly streamOpen: number;
  /** The largest memory while a client without a cursor reads all records. */
  readonly streamedRssMb: number;
}

const repeats = 21;
/** A process has only one first stream, so the median is taken over this many processes. */
const processes = 5;
const rssIntervalMs = 50;

/** Measures a server of the task's session. Each process has no part of the session in memory at first. */
export async function measureServer(folder: string, task: string): Promise<ServerCosts> {
  const messages = await withServer(folder, (server) => messageCosts(server, task));
  const firstStreams: number[] = [];
  let streamedRssMb = 0;
  for (let round = 0; round < processes; round++)
    await withServer(folder, async (server) => {
      await warmUpStreams(server);
      firstStreams.push(await firstStreamCost(server, task));
      if (round === 0) streamedRssMb = await largestRss(server, task);
    });
  return { ...messages, streamOpen: medianOf(firstStreams), streamedRssMb };
}

class ServerProcess {
  readonly client: WordsClient;
  readonly #child: ChildProcess;

  constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.client = wordsClient(url);
  }

  /** Sends an order and returns the reply. Orders must be sent one after another. */
  ask<T>(order: Order): Promise<T> {
    const reply = firstMessage<T>(this.#child);
    this.#child.send(order);
    return reply;
  }

  usage(): Promise<ServerUsage> {
    return this.ask({ type: 'usage' });
  }

  async cpuOf(work: () => Promise<unknown>): Promise<number> {
    const before = await this.usage();
    await work();
    return (await this.usage()).cpuMs - before.cpuMs;
  }

  async median(work: () => Promise<unknown>, prepare = async () => {}): Promise<number> {
    const times: number[] = [];
    for (let time = 0; time < repeats; time++) {
      await prepare();
      times.push(await this.cpuOf(work));
    }
    return medianOf(times);
  }
}

async function withServer<T>(folder: string, use: (server: ServerProcess) => Promise<T>) {
  // Without the flags of this process, the server loads the built packages, as users do.
  const child = fork(join(import.meta.dirname, 'serve-program.ts'), [folder], { execArgv: [] });
  const closed = once(child, 'close');
  const server = new ServerProcess(child, await firstMessage<string>(child));
  try {
    return await use(server);
  } finally {
    await server.ask({ type: 'stop' });
    await closed;
  }
}

async function messageCosts(server: ServerProcess, session: string) {
  const { client } = server;
  const forget = (id: string) => server.ask<unknown>({ type: 'forget', session: id });
  // All code is compiled before the measurement, with another task.
  const other = await client.createTask();
  await server.ask({ type: 'fill', session: other, records: 5000 });
  for (let run = 0; run < 30; run++) {
    await forget(other);
    await client.send(other);
  }
  await setTimeout(1000);
  const forgetSession = async () => void (await forget(session));
  const serverOpen = await server.median(() => client.send(session), forgetSession);
  const serverMessage = await server.median(() => client.send(session));
  const { rssMb } = await server.usage();
  const serverListing = await server.median(() => client.list(session));
  const listedRssMb = (await server.usage()).rssMb;
  return { serverOpen, serverMessage, serverListing, rssMb, listedRssMb };
}

/** Compiles the code with other tasks. */
async function warmUpStreams(server: ServerProcess): Promise<void> {
  const { client } = server;
  for (let task = 0; task < 10; task++) {
    const session = await client.createTask();
    await server.ask({ type: 'fill', session, records: 1000 });
    await server.ask({ type: 'forget', session });
    const through = await server.ask<number>({ type: 'through', session });
    await client.stream(session, through, through - 100);
    await client.stream(session, through);
  }
  await setTimeout(1000);
}

async function firstStreamCost(server: ServerProcess, session: string): Promise<number> {
  const through = await server.ask<number>({ type: 'through', session });
  return server.cpuOf(() => server.client.stream(session, through, through - 100));
}

async function largestRss(server: ServerProcess, session: string): Promise<number> {
  const through = await server.ask<number>({ type: 'through', session });
  let isOver = false;
  const streamed = server.client.stream(session, through).finally(() => {
    isOver = true;
  });
  let largest = 0;
  while (!isOver) {
    largest = Math.max(largest, (await server.usage()).rssMb);
    await Promise.race([streamed, setTimeout(rssIntervalMs)]);
  }
  await streamed;
  return Math.max(largest, (await server.usage()).rssMb);
}

function medianOf(times: readonly number[]): number {
  return [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
}
