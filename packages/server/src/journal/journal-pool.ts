import { type JournalOptions, LocalJournal } from './local-journal.ts';

interface Entry {
  readonly journal: LocalJournal;
  users: number;
  /** Cancels the timer that removes this entry from the pool. */
  cancelExpiry: () => void;
}

/** The time for which an unused journal stays in memory for the next request, in milliseconds. */
const retentionMs = 5000;

/**
 * The journals of this process, one per task. A second journal for the same task could not acquire the lease.
 */
export class JournalPool {
  readonly #options: JournalOptions;
  readonly #open = new Map<string, Entry>();
  #isClosed = false;

  constructor(options: JournalOptions) {
    this.#options = options;
  }

  /**
   * Calls `work` with the task's journal. The journal stays open while it is in use or holds the
   * lease.
   */
  async use<T>(
    taskId: string,
    work: (journal: LocalJournal) => Promise<T>,
    own: Partial<JournalOptions> = {},
  ): Promise<T> {
    const entry = this.#open.get(taskId) ?? this.#add(taskId, own);
    entry.users++;
    entry.cancelExpiry();
    try {
      return await work(entry.journal);
    } finally {
      entry.users--;
      const drop = () => this.#drop(taskId);
      if (entry.users === 0)
        entry.cancelExpiry = this.#options.clock.after(retentionMs, drop, { isIdle: true });
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const open = [...this.#open.values()];
    for (const { cancelExpiry } of open) cancelExpiry();
    await Promise.all(open.map(({ journal }) => journal.close()));
    this.#open.clear();
  }

  #add(taskId: string, own: Partial<JournalOptions>): Entry {
    const onIdle = () => this.#drop(taskId);
    const journal = new LocalJournal(taskId, { ...this.#options, ...own, onIdle });
    const entry = { journal, users: 0, cancelExpiry: () => {} };
    if (this.#isClosed) journal.close().catch(() => {});
    this.#open.set(taskId, entry);
    return entry;
  }

  #drop(taskId: string): void {
    const entry = this.#open.get(taskId);
    if (entry?.users === 0 && !entry.journal.isBusy) this.#open.delete(taskId);
  }
}
