import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Log, memoryLog } from '@millrace/log';
import { postgresLog } from '@millrace/log/postgres';
import { redisBus } from '@millrace/log/redis';
import { sqliteLog } from '@millrace/log/sqlite';
import { startPostgres } from '../../../packages/log/src/testing/start-postgres.ts';
import { startRedis } from '../../../packages/log/src/testing/start-redis.ts';

/** Where a log is stored. Another process can open the same log with it. Default: in memory. */
export interface StoreLocation {
  readonly name: string;
  readonly path?: string;
  readonly postgres?: string;
  readonly redis?: string;
}

export interface Stores extends AsyncDisposable {
  readonly sqlite: StoreLocation;
  readonly postgres: StoreLocation;
  readonly cluster: StoreLocation;
}

/** Starts Postgres and Redis on free ports. They are stopped when the result is disposed. */
export async function startStores(): Promise<Stores> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
  const postgres = await startPostgres({ isSafe: true });
  const redis = await startRedis();
  return {
    sqlite: { name: 'SQLite', path: join(folder, 'log.sqlite') },
    postgres: { name: 'Postgres', postgres: postgres.url },
    cluster: { name: 'Postgres and Redis', postgres: postgres.url, redis: redis.url },
    async [Symbol.asyncDispose]() {
      await redis.stop();
      await postgres.remove();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export interface OpenStore extends AsyncDisposable {
  readonly log: Log;
}

export async function openStore({ path, postgres, redis }: StoreLocation): Promise<OpenStore> {
  const bus = redis === undefined ? undefined : redisBus({ url: redis });
  const log =
    postgres !== undefined
      ? postgresLog({ url: postgres, bus })
      : path !== undefined
        ? sqliteLog({ path })
        : memoryLog();
  return {
    log,
    async [Symbol.asyncDispose]() {
      await log.close();
      await bus?.close();
    },
  };
}
