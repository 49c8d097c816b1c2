import type { SessionId } from '@millrace/core';
import type { BusListener, BusNotice } from '../contract/bus.ts';

/** Who hears of which session. */
export class Listeners {
  readonly #of = new Map<SessionId, Set<BusListener>>();

  get sessions(): readonly SessionId[] {
    return [...this.#of.keys()];
  }

  get isEmpty(): boolean {
    return this.#of.size === 0;
  }

  /** Is it the session's first? */
  add(session: SessionId, listener: BusListener): boolean {
    const there = this.#of.get(session);
    if (there === undefined) this.#of.set(session, new Set([listener]));
    else there.add(listener);
    return there === undefined;
  }

  remove(session: SessionId, listener: BusListener): void {
    const there = this.#of.get(session);
    there?.delete(listener);
    if (there?.size === 0) this.#of.delete(session);
  }

  clear(): void {
    this.#of.clear();
  }

  notice(notice: BusNotice): void {
    for (const listener of this.#of.get(notice.session) ?? []) listener.notice(notice);
  }

  missed(session: SessionId): void {
    for (const listener of this.#of.get(session) ?? []) listener.missed();
  }

  missedAll(): void {
    for (const session of this.sessions) this.missed(session);
  }
}
