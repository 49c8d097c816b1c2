import type { Ids } from '@millrace/core';
import type { Clock, Log } from '@millrace/log';
import type { TaskJournal } from '../contract/task-journal.ts';
import { LocalJournal } from './local-journal.ts';

export interface JournalOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Shown to whoever finds the session held. */
  readonly holder?: string | undefined;
  /** The lease is given back when nothing was written for so long. */
  readonly idleMs?: number | undefined;
  /** How long a lease that another process has is waited for; not at all unless told. */
  readonly patienceMs?: number | undefined;
  /** What a dead process left open is ended; not so for those who drive their sessions themselves. */
  readonly isMending?: boolean | undefined;
  /** Somebody died in the middle of a turn: its end was written just now. */
  readonly onMended?: ((taskId: string) => Promise<void>) | undefined;
  readonly onIdle?: (() => void) | undefined;
}

export function openJournal(taskId: string, options: JournalOptions): TaskJournal {
  return new LocalJournal(taskId, options);
}
