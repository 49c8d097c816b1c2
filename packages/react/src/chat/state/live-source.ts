import type { Client, LiveItem, TaskHandle } from '@millrace/client';
import type { AgentEvent, FoldState, ItemId, Part, PartId } from '@millrace/core';
import type { ChatSource } from './chat-source.ts';
import { FactIndex } from './fact-index.ts';
import { pacedUpdates } from './paced-updates.ts';

/**
 * The current state of a task. It reads facts from the events of the task handle. Create it before
 * other listeners of the handle, so that they see the new facts.
 */
export class LiveSource implements ChatSource {
  readonly handle: TaskHandle;
  #facts = new FactIndex();
  /** The events in `#facts`, while the handle has only the recent records. */
  #recent: AgentEvent[] = [];
  readonly #listeners = new Set<() => void>();
  readonly #requestUpdate = pacedUpdates(() => {
    for (const listener of [...this.#listeners]) listener();
  });
  #unsubscribe: (() => void) | undefined;
  #isReading = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  readonly #onUnused: () => void;

  /** `onUnused` is called when the last listener unsubscribes. */
  constructor(handle: TaskHandle, onUnused: () => void = () => {}) {
    this.handle = handle;
    this.#onUnused = onUnused;
    handle.onEarlier((earlier) => this.#addEarlier(earlier));
  }

  get facts(): FactIndex {
    return this.#facts;
  }

  /** False while only the recent items are loaded. */
  get isWhole(): boolean {
    return this.handle.snapshot().isWhole;
  }

  get hasListeners(): boolean {
    return this.#listeners.size > 0;
  }

  get id(): string {
    return this.handle.id;
  }

  get itemIds(): readonly ItemId[] {
    return this.handle.itemIds;
  }

  get state(): FoldState {
    return this.handle.snapshot().state;
  }

  /** Returns an item. It is the same object until the item changes. */
  item(id: ItemId): LiveItem | undefined {
    return this.handle.item(id);
  }

  /** Returns a part. It is the same object until the part changes. */
  part(id: PartId): Part | undefined {
    return this.handle.part(id);
  }

  /** Returns the bytes of a blob that a part references. */
  blob(hash: string): Promise<Blob> {
    return this.handle.blob(hash);
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#read();
    const own = () => listener();
    this.#listeners.add(own);
    this.#unsubscribe ??= this.handle.subscribe(() => {
      this.#read();
      this.#requestUpdate();
    });
    return () => {
      this.#listeners.delete(own);
      if (this.hasListeners) return;
      this.#unsubscribe?.();
      this.#unsubscribe = undefined;
      this.#onUnused();
    };
  };

  /**
   * Reads events until the stream ends. If the session continues later, this method is called
   * again.
   */
  #read(): void {
    const { state } = this.handle.snapshot().connection;
    if (this.#isReading || state === 'ended' || state === 'failed') return;
    this.#isReading = true;
    void this.#readEvents();
  }

  async #readEvents(): Promise<void> {
    try {
      for await (const event of this.handle.events()) {
        if (!this.isWhole) this.#recent.push(event);
        if (this.facts.add(event)) this.#notifySoon();
      }
    } catch {
      // The connection state already contains the error, so this place ignores it.
    } finally {
      this.#isReading = false;
    }
  }

  /** Builds the facts again, with the events of the earlier records before the known ones. */
  #addEarlier(earlier: readonly AgentEvent[]): void {
    const facts = new FactIndex();
    for (const event of [...earlier, ...this.#recent]) facts.add(event);
    this.#facts = facts;
    this.#recent = [];
  }

  /**
   * Notifies the listeners once for all facts that arrive together. A long session has thousands of
   * facts.
   */
  #notifySoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      // While the handle catches up, this source does not notify. The handle notifies its listeners
      // after that, and they then read all facts.
      if (!this.handle.snapshot().isCatchingUp) this.#requestUpdate();
    });
  }
}

/**
 * The time for which a source without listeners is kept. The user may return soon, for example with the back
 * button.
 */
const lingerMs = 10_000;

/** Keeps one source for each task. A source without listeners is kept for a few more seconds. */
export class LiveSources {
  readonly #client: Client;
  readonly #sources = new Map<string, LiveSource>();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Returns the source of a task. While it is in use, it is the same object. */
  get(id: string): LiveSource {
    return this.#source(id, () => this.#client.task(id));
  }

  /** Returns the session of a sub-agent, which the server gives to readers of the task. */
  subAgent(task: string, id: string): LiveSource {
    return this.#source(`${task}/${id}`, () => this.#client.subAgent(task, id));
  }

  #source(key: string, handle: () => TaskHandle): LiveSource {
    const known = this.#sources.get(key);
    if (known !== undefined) return known;
    const source = new LiveSource(handle(), () => this.#unsubscribe(key, source));
    this.#sources.set(key, source);
    return source;
  }

  #unsubscribe(key: string, source: LiveSource): void {
    setTimeout(() => {
      if (source.hasListeners || this.#sources.get(key) !== source) return;
      this.#sources.delete(key);
      source.handle.close();
    }, lingerMs);
  }
}
