import { setTimeout } from 'node:timers/promises';
import type { Randomness } from '../../../../../scripts/chaos/randomness.ts';
import type { TestPgBouncer } from '../../../../log/src/testing/start-pgbouncer.ts';
import type { Cluster, ClusterMember } from './cluster.ts';
import { clusterLeaseMs } from './cluster-store.ts';

/** A fault that a test injects. `inject` resolves when the fault is over. */
interface Fault {
  readonly name: string;
  /** True if the fault kills a process with SIGKILL. */
  readonly isKill: boolean;
  inject(cluster: Cluster, random: Randomness): Promise<void>;
}

const killFault = (name: string, of: (cluster: Cluster) => ClusterMember): Fault => ({
  ...{ name: `kill ${name}`, isKill: true },
  async inject(cluster) {
    const member = of(cluster);
    await member.waitUntilUp();
    member.kill();
  },
});

/**
 * Starts Postgres again. It retries, because Postgres does not start until the last of its old processes
 * has ended.
 */
async function restartPostgres(
  postgres: Pick<Cluster['postgres'], 'start'>,
  triesLeft = 50,
): Promise<void> {
  try {
    await postgres.start();
  } catch (error) {
    if (triesLeft === 0) throw error;
    await setTimeout(100);
    await restartPostgres(postgres, triesLeft - 1);
  }
}

/** Returns the faults of a cluster. Without PgBouncer, the fault that restarts PgBouncer is omitted. */
export function faultsOf({ pooler }: Pick<Cluster, 'pooler'>): readonly Fault[] {
  return pooler === undefined ? faults : [...faults, restartOf(pooler)];
}

const restartOf = (pooler: Pick<TestPgBouncer, 'restart'>): Fault => ({
  ...{ name: 'restart PgBouncer', isKill: false },
  inject: () => pooler.restart(),
});

/** The faults. The test uses them in turn, so each fault occurs equally often. */
const faults: readonly Fault[] = [
  killFault('server A', ({ a }) => a),
  killFault('server B', ({ b }) => b),
  {
    ...{ name: 'FLUSHALL', isKill: false },
    inject: async ({ redis }) => void (await redis.ask('FLUSHALL')),
  },
  killFault('worker', ({ worker }) => worker),
  {
    // This Redis stores nothing on disk, so it restarts empty.
    ...{ name: 'kill Redis', isKill: true },
    async inject({ redis }, random) {
      await redis.crash();
      await setTimeout(1500 * random.next());
      await redis.start();
    },
  },
  {
    ...{ name: 'CLIENT KILL', isKill: false },
    inject: async ({ redis }) => void (await redis.ask('CLIENT', 'KILL', 'TYPE', 'normal')),
  },
  {
    ...{ name: 'kill Postgres', isKill: true },
    async inject({ postgres }, random) {
      await postgres.kill();
      await setTimeout(1000 * random.next());
      await restartPostgres(postgres);
    },
  },
  {
    ...{ name: 'stop Redis for some seconds', isKill: false },
    async inject({ redis }, random) {
      redis.kill('SIGSTOP');
      await setTimeout(1500 + 2000 * random.next());
      redis.kill('SIGCONT');
    },
  },
  {
    ...{ name: 'restart Postgres', isKill: false },
    async inject({ postgres }) {
      await postgres.stop();
      await postgres.start();
    },
  },
  {
    // The clock stays changed until the process is killed.
    ...{ name: 'set a clock', isKill: false },
    async inject({ a, b, worker }, random) {
      const member = random.oneOf([a, b, worker]);
      member.stepClock(random.oneOf([-3_600_000, -20_000, 20_000, 3_600_000]));
    },
  },
  {
    ...{ name: 'pause a process beyond its lease', isKill: false },
    async inject({ a, b, worker }, random) {
      const member = random.oneOf([a, b, worker]);
      member.pause();
      await setTimeout(clusterLeaseMs + 3000 * random.next());
      member.resume();
    },
  },
];
