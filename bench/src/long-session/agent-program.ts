import { join } from 'node:path';
import { sessionStates } from '@millrace/log';
import { sqliteLog } from '@millrace/log/sqlite';
import { fillSession, longAgent } from './long-agent.ts';

// Measures one long session in a separate process, which has no part of the session in memory.
// Prints JSON.

/** The CPU time of an agent's process in milliseconds. */
export interface AgentCosts {
  readonly open: number;
  readonly message: number;
  readonly settle: number;
  readonly listing: number;
}

const [folder = '', session = ''] = process.argv.slice(2);
const repeats = 21;

/**
 * Returns the CPU time of the process in milliseconds. Other processes of the machine do not change
 * it.
 */
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

const log = sqliteLog({ path: join(folder, 'log.db') });
const costs = await agentCosts();
await log.close();
process.send?.(costs);
process.disconnect?.();

async function agentCosts(): Promise<AgentCosts> {
  const agent = longAgent(log);
  const say = (id: string) => agent.run('And then?', { session: id }).result;
  // All code is compiled before the measurement. The code that opens a session is compiled by
  // opening another session.
  await fillSession(log, 'warm', 5000);
  for (let run = 0; run < 30; run++) {
    sessionStates(log).forget('warm');
    await say('warm');
  }
  const open = await median(() => {
    sessionStates(log).forget(session);
    return say(session);
  });
  const message = await median(() => say(session));
  const listing = await median(() => log.list({ limit: 50 }));
  return { open, message, listing, settle: await settleCost() };
}

/** Returns the cost to settle a turn. It settles the turns of the last messages. */
async function settleCost(): Promise<number> {
  const { through = 0 } = (await log.info(session)) ?? {};
  const turns = new Map<number, [number, number]>();
  for (let from = through - 2500; from < through; ) {
    const page = await log.read(session, { from });
    for (const { turn, offset } of page.records)
      turns.set(turn, [turns.get(turn)?.[0] ?? offset, offset]);
    from = page.through;
  }
  // The first turn may be incomplete, so it is left out.
  const all = [...turns].filter(([turn]) => turn > 0).slice(1);
  let next = 0;
  return median(async () => {
    const [turn = 0, within] = all[next++] ?? [];
    if (!(await log.settle(session, turn, { within }))) throw new Error(`turn ${turn} is settled`);
  });
}
