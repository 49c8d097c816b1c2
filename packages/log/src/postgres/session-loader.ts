import type { SessionId } from '@millrace/core';
import type { SessionRow } from '../shelf/rows.ts';

type Load = (sessions: readonly SessionId[]) => Promise<ReadonlyMap<SessionId, SessionRow>>;

/** Asks once for all who want to know of a session at the same time. */
export class SessionLoader {
  readonly #load: Load;
  /** Who asks next, and what they will be answered. */
  #next: { readonly sessions: Set<SessionId>; readonly found: ReturnType<Load> } | undefined;

  constructor(load: Load) {
    this.#load = load;
  }

  async get(session: SessionId): Promise<SessionRow | undefined> {
    this.#next ??= this.#collect();
    const { sessions, found } = this.#next;
    sessions.add(session);
    return (await found).get(session);
  }

  #collect() {
    const sessions = new Set<SessionId>();
    const ask = async () => {
      // When all who ask now have asked.
      await Promise.resolve();
      this.#next = undefined;
      return this.#load([...sessions]);
    };
    return { sessions, found: ask() };
  }
}
