import { LogError } from '@millrace/log';
import type { Config } from '../config/config.ts';
import type { Env } from '../models/env.ts';
import { explainStoreError } from './explain-store-error.ts';
import { openStore, type Store } from './open-store.ts';

/** Opens the store, and closes it again, whatever happens. */
export async function withStore<T>(
  options: { readonly config: Pick<Config, 'store'>; readonly env: Env },
  use: (store: Store) => Promise<T>,
): Promise<T> {
  const store = await openStore(options);
  try {
    return await use(store);
  } catch (error) {
    throw error instanceof LogError ? explainStoreError(error, store.path) : error;
  } finally {
    await store.close();
  }
}
