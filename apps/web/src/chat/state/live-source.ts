import type { Client, LiveItem, TaskHandle } from '@millrace/client';
import type { FoldState, ItemId, Part, PartId } from '@millrace/core';
import type { ChatSource } from './chat-source.ts';
import { FactIndex } from './fact-index.ts';

/**
 * The current state of a task. It reads facts from the events of the task handle. So create it
 * before you add any other listener to the handle.
 */
export class LiveSource implements ChatSource {
  readonly handle: TaskHandle;
  readonly facts: FactIndex = new FactIndex();
  readonly #listeners = new Set<() => void>();
  #isReading = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  readonly #onUnused: () => void;

  /** `onUnused` is called when the last listener unsubscribes. */
  constructor(handle: TaskHandle, onUnused: () => void = () => {}) {
    this.handle = handle;
    this.#onUnused = onUnused;
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

  item(id: ItemId): LiveItem | undefined {
    return this.handle.item(id);
  }

  part(id: PartId): Part | undefined {
    return this.handle.part(id);
  }

  blob(hash: string): Promise<Blob> {
    return this.handle.blob(hash);
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#read();
    const own = () => listener();
    this.#listeners.add(own);
    const unsubscribe = this.handle.subscribe(() => {
      this.#read();
      own();
    });
    return () => {
      unsubscribe();
      this.#listeners.delete(own);
      if (!this.hasListeners) this.#onUnused();
    };
  };

  /** Reads events until they end. If the session continues later, it is called again. */
  #read(): void {
    const { state } = this.handle.snapshot().connection;
    if (this.#isReading || state === 'ended' || state === 'failed') return;
    this.#isReading = true;
    void this.#readEvents();
  }

  async #readEvents(): Promise<void> {
    try {
      for await (const event of this.handle.events()) {
        if (this.facts.add(event)) this.#notifySoon();
      }
    } catch {
      // The state of the connection contains the error, so the error is ignored here.
    } finally {
      this.#isReading = false;
    }
  }

  /**
   * Notifies the listeners once for all facts that arrive together, because a long session has
   * thousands of facts.
   */
  #notifySoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      // After catching up, the handle notifies its listeners itself. They then read all facts at
      // once.
      if (!this.handle.snapshot().isCatchingUp) this.#notify();
    });
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

/**
 * How long a source without listeners is kept. A user may return soon, for example with the back
 * button.
 */
const lingerMs = 10_000;

/** Keeps one source for each task. A source is kept while it has listeners, and a little longer. */
export class LiveSources {
  readonly #client: Client;
  readonly #sources = new Map<string, LiveSource>();

  constructor(client: Client) {
    this.#client = client;
  }

  get(id: string): LiveSource {
    const sources = this.#sources.get(id);
    if (sources !== undefined) return sources;
    const source = new LiveSource(this.#client.task(id), () => this.#unsubscribe(id, source));
    this.#sources.set(id, source);
    return source;
  }

  #unsubscribe(id: string, source: LiveSource): void {
    setTimeout(() => {
      if (source.hasListeners || this.#sources.get(id) !== source) return;
      this.#sources.delete(id);
      source.handle.close();
    }, lingerMs);
  }
}
