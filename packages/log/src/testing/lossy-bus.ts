import type { SessionId } from '@millrace/core';
import type { Bus, BusListener, BusNotice } from '../contract/bus.ts';

/** Says how a notice is delivered. */
export type Delivery =
  | 'arrives'
  | 'is lost'
  | 'comes twice'
  | 'comes late'
  | 'comes without records';

/** An in-process bus that can lose, repeat, delay or shorten notices. */
export class LossyBus implements Bus {
  readonly published: BusNotice[] = [];
  readonly forgotten: SessionId[] = [];
  readonly #listeners = new Map<SessionId, Set<BusListener>>();
  readonly #late: BusNotice[] = [];
  #fateOf: () => Delivery = () => 'arrives';

  /** Sets how the next notices are delivered. */
  deliverAs(fateOf: () => Delivery): void {
    this.#fateOf = fateOf;
  }

  get listeners(): number {
    return [...this.#listeners.values()].reduce((sum, some) => sum + some.size, 0);
  }

  publish(notice: BusNotice): void {
    this.published.push(notice);
    const fate = this.#fateOf();
    if (fate === 'comes late') return void this.#late.push(notice);
    if (fate === 'arrives' || fate === 'comes twice') this.#give(notice);
    if (fate === 'comes twice') this.#give(notice);
    if (fate === 'comes without records') this.#give({ ...notice, records: [] });
    // Delayed notices are delivered after this later one.
    for (const late of this.#late.splice(0)) this.#give(late);
  }

  subscribe(session: SessionId, listener: BusListener): () => void {
    const some = this.#listeners.get(session) ?? new Set();
    this.#listeners.set(session, some.add(listener));
    queueMicrotask(() => listener.missed());
    return () => some.delete(listener);
  }

  /** Calls `missed` on all listeners, as after a lost connection. */
  announceMissed(): void {
    for (const some of this.#listeners.values()) for (const listener of some) listener.missed();
  }

  forget(session: SessionId): void {
    this.forgotten.push(session);
  }

  async close(): Promise<void> {}

  #give(notice: BusNotice): void {
    for (const listener of this.#listeners.get(notice.session) ?? []) listener.notice(notice);
  }
}
