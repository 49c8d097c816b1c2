import { systemClock } from '@millrace/agent';
import type { Log } from '@millrace/log';
import type { Clock } from '@millrace/providers';
import type { Config } from '../config/config.ts';
import type { Env } from '../models/env.ts';
import { explainStoreError } from './explain-store-error.ts';
import { makePrivateFile } from './private-file.ts';
import { storePath } from './store-path.ts';

/** Where all sessions are. */
export interface Store {
  readonly log: Log;
  readonly path: string;
  close(): Promise<void>;
}

export interface OpenStoreOptions {
  readonly config: Pick<Config, 'store'>;
  readonly env: Env;
  readonly clock?: Clock | undefined;
}

/** Opens the file of the sessions, which is made if there is none. Throws a `LogError` that says what to do. */
export async function openStore(options: OpenStoreOptions): Promise<Store> {
  const { config, env, clock = systemClock } = options;
  const path = storePath(config, env);
  // Loaded here, because help and `--version` need no database.
  const { sqliteLog } = await import('@millrace/log/sqlite');
  try {
    await makePrivateFile(path);
    const log = sqliteLog({ path, clock });
    return { log, path, close: () => log.close() };
  } catch (error) {
    throw explainStoreError(error, path);
  }
}
