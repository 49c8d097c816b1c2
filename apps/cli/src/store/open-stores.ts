import type { Config } from '../contract/config.ts';
import type { Host } from '../contract/host.ts';
import { openStore, type Store, storePath } from './open-store.ts';

/** The open stores of the process. Sessions with the same file share its store. */
export class Stores {
  readonly #env: Host['env'];
  readonly #open = new Map<string, Promise<Store>>();

  constructor(env: Host['env']) {
    this.#env = env;
  }

  /** Opens the store of a configuration, or returns the open one. */
  open(config: Pick<Config, 'store'>): Promise<Store> {
    const path = storePath(config, this.#env);
    const known = this.#open.get(path);
    if (known !== undefined) return known;
    const opening = openStore({ config, env: this.#env });
    this.#open.set(path, opening);
    // A failed attempt is forgotten, so that the next session tries again.
    opening.catch(() => this.#open.delete(path));
    return opening;
  }

  async close(): Promise<void> {
    for (const store of this.#open.values())
      await store.then((open) => open.close()).catch(() => {});
    this.#open.clear();
  }
}
