import { setTimeout } from 'node:timers/promises';
import type { Cluster, Member } from './cluster.ts';

/** From 0 up to 1. */
export type Random = () => number;

/** Something that goes wrong; resolves when it is over, so far as it depends on us. */
interface Mischief {
  readonly name: string;
  /** A process is killed by it, without a word. */
  readonly isKill: boolean;
  do(cluster: Cluster, random: Random): Promise<void>;
}

const killOf = (name: string, of: (cluster: Cluster) => Member): Mischief => ({
  ...{ name: `kill ${name}`, isKill: true },
  async do(cluster) {
    const member = of(cluster);
    await member.up();
    member.kill();
  },
});

/** It does not start before the last of its old processes noticed. */
async function startAgain(
  postgres: Pick<Cluster['postgres'], 'start'>,
  triesLeft = 50,
): Promise<void> {
  try {
    await postgres.start();
  } catch (error) {
    if (triesLeft === 0) throw error;
    await setTimeout(100);
    await startAgain(postgres, triesLeft - 1);
  }
}

/** In turn, so that each comes up as often as the others. */
export const mischiefs: readonly Mischief[] = [
  killOf('server A', ({ a }) => a),
  killOf('server B', ({ b }) => b),
  {
    ...{ name: 'FLUSHALL', isKill: false },
    do: async ({ redis }) => void (await redis.ask('FLUSHALL')),
  },
  killOf('worker', ({ worker }) => worker),
  {
    // It keeps nothing, so that it comes back without its data.
    ...{ name: 'kill Redis', isKill: true },
    async do({ redis }, random) {
      await redis.crash();
      await setTimeout(1500 * random());
      await redis.start();
    },
  },
  {
    ...{ name: 'CLIENT KILL', isKill: false },
    do: async ({ redis }) => void (await redis.ask('CLIENT', 'KILL', 'TYPE', 'normal')),
  },
  {
    ...{ name: 'kill Postgres', isKill: true },
    async do({ postgres }, random) {
      await postgres.kill();
      await setTimeout(1000 * random());
      await startAgain(postgres);
    },
  },
  {
    ...{ name: 'stop Redis for some seconds', isKill: false },
    async do({ redis }, random) {
      redis.kill('SIGSTOP');
      await setTimeout(1500 + 2000 * random());
      redis.kill('SIGCONT');
    },
  },
  {
    ...{ name: 'restart Postgres', isKill: false },
    async do({ postgres }) {
      await postgres.stop();
      await postgres.start();
    },
  },
];
