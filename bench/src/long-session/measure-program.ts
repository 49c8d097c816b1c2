import { setTimeout } from 'node:timers/promises';
import { sqliteLog } from '@millrace/log/sqlite';
import { longAgent } from './long-agent.ts';
import { startWordsServer } from './words-server.ts';

// Measures one long session in a process of its own, which has nothing of it in memory. Prints JSON.

/** Milliseconds of the process' CPU, or of the clock. */
export interface Costs {
  readonly open: number;
  readonly message: number;
  readonly settle: number;
  readonly listing: number;
  readonly serverOpen: number;
  readonly serverMessage: number;
  readonly serverListing: number;
  readonly rssMb: number;
}

const [folder = '', session = '', task = ''] = process.argv.slice(2);
const repeats = 21;

/** CPU of the process in milliseconds. Other processes of the machine do not change it. */
async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

async function median(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let time = 0; time < repeats; time++) times.push(await cpuOf(work));
  return times.sort((a, b) => a - b)[Math.floor(repeats / 2)] ?? 0;
}

const log = sqliteLog({ path: `${folder}/log.db` });
const agent = longAgent(log);
const say = (id: string) => agent.run('And then?', { session: id }).result;
// Code is compiled before anything is measured.
for (let run = 0; run < 100; run++) await say(`warm ${run % 30}`);

const open = await cpuOf(() => say(session));
const message = await median(() => say(session));
const listing = await median(() => log.list({ limit: 50 }));
const settle = await settleCost();

/** Settles the turns of the last messages, whose offsets are known. */
async function settleCost(): Promise<number> {
  const { through = 0 } = (await log.info(session)) ?? {};
  const turns = new Map<number, [number, number]>();
  for (let from = through - 2500; from < through; ) {
    const page = await log.read(session, { from });
    for (const { turn, offset } of page.records)
      turns.set(turn, [turns.get(turn)?.[0] ?? offset, offset]);
    from = page.through;
  }
  // The first one may be incomplete.
  const all = [...turns].filter(([turn]) => turn > 0).slice(1);
  let next = 0;
  return median(async () => {
    const [turn = 0, within] = all[next++] ?? [];
    if (!(await log.settle(session, turn, { within }))) throw new Error(`turn ${turn} is settled`);
  });
}

const server = await startWordsServer(folder, log);
const other = await server.createTask();
for (let run = 0; run < 50; run++) await server.send(other);
// The journals of the server release their leases.
await setTimeout(1000);
const serverOpen = await cpuOf(() => server.send(task));
const serverMessage = await median(() => server.send(task));
const serverListing = await median(() => server.list(task));
const rssMb = process.memoryUsage().rss / 2 ** 20;
await server[Symbol.asyncDispose]();
await log.close();
const costs: Costs = {
  ...{ open, message, settle, listing },
  ...{ serverOpen, serverMessage, serverListing, rssMb },
};
process.send?.(costs);
process.disconnect?.();
