import { join } from 'node:path';
import { freePort } from '../../../../log/src/testing/external-programs.ts';
import {
  hasPgBouncer,
  startPgBouncer,
  type TestPgBouncer,
} from '../../../../log/src/testing/start-pgbouncer.ts';
import { startPostgres, type TestPostgres } from '../../../../log/src/testing/start-postgres.ts';
import { type ChildProgram, startProcess } from '../../../../log/src/testing/start-process.ts';
import { startRedis, type TestRedis } from '../../../../log/src/testing/start-redis.ts';

const program = new URL('./cluster-process.ts', import.meta.url);

/** A message from the parent to a process of the cluster. */
export interface ClusterOrder {
  /** The difference between the clock of the process and the clock of the machine, in milliseconds. */
  readonly clockStepMs: number;
}

/** A process that is restarted whenever it ends. */
export class ClusterMember {
  readonly name: string;
  readonly url: string;
  readonly #args: readonly string[];
  readonly #codeCache: string;
  #child: ChildProgram | undefined;
  #isUp = false;
  #isStopped = false;
  #wake = new Set<() => void>();
  /** Descriptions of processes that ended without being killed, with the end of their stderr. */
  readonly unexpectedExits: string[] = [];
  #isKilled = false;

  constructor(name: string, role: 'server' | 'worker', port: number, cluster: ClusterConfig) {
    this.name = name;
    this.url = `http://127.0.0.1:${port}`;
    this.#args = [role, cluster.store, cluster.bus, cluster.doneFile, String(port)];
    this.#codeCache = cluster.codeCache;
    void this.#keepRunning();
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  async waitUntilUp(): Promise<void> {
    while (!this.#isUp) await new Promise<void>((resolve) => this.#wake.add(resolve));
  }

  kill(): void {
    this.#isKilled = true;
    this.#isUp = false;
    this.#child?.kill('SIGKILL');
  }

  /** Sets the clock of the process. A restart resets it. */
  stepClock(clockStepMs: number): void {
    this.#child?.send({ clockStepMs } satisfies ClusterOrder);
  }

  /** Pauses the process until `resume` is called. The process cannot detect the pause. */
  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.kill();
    await this.#child?.exit;
  }

  async #keepRunning(): Promise<void> {
    while (!this.#isStopped) {
      this.#isKilled = false;
      const child = startProcess(program, {
        args: this.#args,
        codeCache: this.#codeCache,
        onMessage: () => this.#markUp(),
      });
      this.#child = child;
      const { code, stderr } = await child.exit;
      // A process cannot start while Postgres is down. Such an end is not counted.
      if (this.#isUp && !this.#isKilled)
        this.unexpectedExits.push(`${this.name} ended with ${code}: ${stderr.slice(-2000)}`);
      this.#isUp = false;
    }
  }

  #markUp(): void {
    this.#isUp = true;
    for (const wake of this.#wake) wake();
    this.#wake.clear();
  }
}

interface ClusterConfig {
  readonly store: string;
  readonly bus: string;
  /** The file to which the tools write their calls. */
  readonly doneFile: string;
  readonly codeCache: string;
}

/**
 * Two servers, a worker, Postgres and Redis, each in its own process. If PgBouncer is installed, server B
 * and the worker use Postgres through it, in transaction mode.
 */
export interface Cluster extends ClusterConfig {
  readonly a: ClusterMember;
  readonly b: ClusterMember;
  readonly worker: ClusterMember;
  readonly redis: TestRedis;
  readonly postgres: TestPostgres;
  readonly pooler: TestPgBouncer | undefined;
  stop(): Promise<void>;
}

/** Starts all processes of a cluster and waits until they are up. */
export async function startCluster(folder: string): Promise<Cluster> {
  const [redis, postgres] = await Promise.all([startRedis(), startPostgres()]);
  const config = {
    ...{ store: postgres.url, bus: redis.url },
    ...{ doneFile: join(folder, 'done'), codeCache: join(folder, 'code') },
  };
  const pooler = hasPgBouncer ? await startPgBouncer(postgres) : undefined;
  const pooled = { ...config, store: pooler?.url ?? postgres.url };
  const a = new ClusterMember('server A', 'server', await freePort(), config);
  const b = new ClusterMember('server B', 'server', await freePort(), pooled);
  const worker = new ClusterMember('worker', 'worker', 0, pooled);
  await Promise.all([a, b, worker].map((member) => member.waitUntilUp()));
  return {
    ...{ ...config, a, b, worker, redis, postgres, pooler },
    async stop() {
      await Promise.all([a, b, worker].map((member) => member.stop()));
      await pooler?.stop();
      await Promise.all([redis.stop(), postgres.remove()]);
    },
  };
}
