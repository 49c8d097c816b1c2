import { join } from 'node:path';
import { freePort } from '../../../../log/src/testing/free-port.ts';
import { startPostgres, type TestPostgres } from '../../../../log/src/testing/start-postgres.ts';
import { type Started, startProcess } from '../../../../log/src/testing/start-process.ts';
import { startRedis, type TestRedis } from '../../../../log/src/testing/start-redis.ts';

const program = new URL('./cluster-process.ts', import.meta.url);

/** One process that is started again whenever it ends. */
export class Member {
  readonly name: string;
  readonly url: string;
  readonly #args: readonly string[];
  readonly #codeCache: string;
  #child: Started | undefined;
  #isUp = false;
  #isStopped = false;
  #wake = new Set<() => void>();
  /** Those that ended though nobody killed them, with the end of what they said. */
  readonly accidents: string[] = [];
  #isKilled = false;

  constructor(name: string, role: 'server' | 'worker', port: number, cluster: ClusterPlace) {
    this.name = name;
    this.url = `http://127.0.0.1:${port}`;
    this.#args = [role, cluster.store, cluster.bus, cluster.doneFile, String(port)];
    this.#codeCache = cluster.codeCache;
    void this.#keep();
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  async up(): Promise<void> {
    while (!this.#isUp) await new Promise<void>((resolve) => this.#wake.add(resolve));
  }

  kill(): void {
    this.#isKilled = true;
    this.#isUp = false;
    this.#child?.kill('SIGKILL');
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.kill();
    await this.#child?.exit;
  }

  async #keep(): Promise<void> {
    while (!this.#isStopped) {
      this.#isKilled = false;
      const child = startProcess(program, {
        args: this.#args,
        codeCache: this.#codeCache,
        onTold: () => this.#rise(),
      });
      this.#child = child;
      const { code, stderr } = await child.exit;
      // Where Postgres is gone when it starts, it cannot.
      if (this.#isUp && !this.#isKilled)
        this.accidents.push(`${this.name} ended with ${code}: ${stderr.slice(-2000)}`);
      this.#isUp = false;
    }
  }

  #rise(): void {
    this.#isUp = true;
    for (const wake of this.#wake) wake();
    this.#wake.clear();
  }
}

interface ClusterPlace {
  readonly store: string;
  readonly bus: string;
  /** Where tools write what they did. */
  readonly doneFile: string;
  readonly codeCache: string;
}

/** Two servers, a worker, Postgres and Redis, each a process. */
export interface Cluster extends ClusterPlace {
  readonly a: Member;
  readonly b: Member;
  readonly worker: Member;
  readonly redis: TestRedis;
  readonly postgres: TestPostgres;
  stop(): Promise<void>;
}

export async function startCluster(folder: string): Promise<Cluster> {
  const [redis, postgres] = await Promise.all([startRedis(), startPostgres()]);
  const place = {
    ...{ store: postgres.url, bus: redis.url },
    ...{ doneFile: join(folder, 'done'), codeCache: join(folder, 'code') },
  };
  const a = new Member('server A', 'server', await freePort(), place);
  const b = new Member('server B', 'server', await freePort(), place);
  const worker = new Member('worker', 'worker', 0, place);
  await Promise.all([a, b, worker].map((member) => member.up()));
  return {
    ...{ ...place, a, b, worker, redis, postgres },
    async stop() {
      await Promise.all([a, b, worker].map((member) => member.stop()));
      await Promise.all([redis.stop(), postgres.remove()]);
    },
  };
}
