import type { Client } from '@millrace/client';
import { LiveSource } from './live-source.ts';

/** Somebody who left may be back: a reload of the view, a step back. */
const lingerMs = 10_000;

/** One source a task, for as long as somebody looks at it and a little longer. */
export class LiveSources {
  readonly #client: Client;
  readonly #known = new Map<string, LiveSource>();

  constructor(client: Client) {
    this.#client = client;
  }

  get(id: string): LiveSource {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const source = new LiveSource(this.#client.task(id), () => this.#leave(id, source));
    this.#known.set(id, source);
    return source;
  }

  #leave(id: string, source: LiveSource): void {
    setTimeout(() => {
      if (source.isHeard || this.#known.get(id) !== source) return;
      this.#known.delete(id);
      source.handle.close();
    }, lingerMs);
  }
}
