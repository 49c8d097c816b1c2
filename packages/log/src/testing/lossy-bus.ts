import type { SessionId } from '@millrace/core';
import type { Bus, BusListener, BusNotice } from '../contract/bus.ts';

/** What becomes of a notice. */
export type Delivery =
  | 'arrives'
  | 'is lost'
  | 'comes twice'
  | 'comes late'
  | 'comes without records';

/** A bus within one process that does all that a bus may do to what it carries. */
export class LossyBus implements Bus {
  readonly published: BusNotice[] = [];
  readonly forgotten: SessionId[] = [];
  readonly #listeners = new Map<SessionId, Set<BusListener>>();
  readonly #late: BusNotice[] = [];
  #fateOf: () => Delivery = () => 'arrives';

  /** From now on. */
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
    // After others that came later.
    for (const late of this.#late.splice(0)) this.#give(late);
  }

  subscribe(session: SessionId, listener: BusListener): () => void {
    const some = this.#listeners.get(session) ?? new Set();
    this.#listeners.set(session, some.add(listener));
    queueMicrotask(() => listener.missed());
    return () => some.delete(listener);
  }

  /** All hear that they may have missed something, as after a connection that was lost. */
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
