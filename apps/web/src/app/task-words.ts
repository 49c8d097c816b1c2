import type { TaskStatus, TaskSummary } from '@millrace/client';

/** What a person would call it. */
export function taskTitle({
  id,
  name,
  task_metadata,
}: Pick<TaskSummary, 'id' | 'name' | 'task_metadata'>) {
  const title = task_metadata?.['title'];
  return typeof title === 'string' && title !== '' ? title : (name ?? `Session ${id.slice(0, 8)}`);
}

export interface StatusLook {
  readonly look: 'plain' | 'warn' | 'bad';
  readonly words: string;
}

/** What there is to say of a status; nothing of one that goes on or may go on. */
export function statusLook(status: TaskStatus | null): StatusLook | undefined {
  switch (status) {
    case null:
    case 'RUNNING':
      return undefined;
    case 'INTERRUPTED':
      return { look: 'plain', words: 'stopped' };
    case 'COMPLETED':
      return { look: 'plain', words: 'completed' };
    case 'CANCELED':
    case 'TERMINATED':
    case 'DELETED':
      return { look: 'plain', words: 'closed' };
    case 'FAILED':
      return { look: 'bad', words: 'failed' };
    case 'TIMED_OUT':
      return { look: 'bad', words: 'timed out' };
  }
}

const closed: ReadonlySet<string> = new Set(['CANCELED', 'TERMINATED', 'DELETED']);

export function isClosed(status: TaskStatus | null | undefined): boolean {
  return closed.has(status ?? '');
}

/** How many sessions have a call that somebody has to allow. */
export function waitingWords(count: number): string {
  return count === 1 ? '1 waits for you' : `${count} wait for you`;
}
