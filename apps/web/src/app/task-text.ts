import type { TaskStatus, TaskSummary } from '@millrace/client';
import type { Api } from '../server/api.ts';

/** What a person would call it. */
export function taskTitle({
  id,
  name,
  task_metadata,
}: Pick<TaskSummary, 'id' | 'name' | 'task_metadata'>) {
  const title = task_metadata?.['title'];
  return typeof title === 'string' && title !== '' ? title : (name ?? `Session ${id.slice(0, 8)}`);
}

interface StatusBadge {
  readonly look: 'plain' | 'warn' | 'bad';
  readonly words: string;
}

/** What there is to say of a status; nothing of one that goes on or may go on. */
export function statusBadge(status: TaskStatus | null): StatusBadge | undefined {
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
export function waitingText(count: number): string {
  return count === 1 ? '1 waits for you' : `${count} wait for you`;
}

const maxLength = 80;

/** Calls a session by the first line of what was said. Without a title it is a session as well. */
export async function setTaskTitle(
  api: Api,
  { id, task_metadata }: Pick<TaskSummary, 'id' | 'task_metadata'>,
  text: string,
): Promise<void> {
  const [line = ''] = text.trim().split('\n', 1);
  const title = line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line;
  const body = { task_metadata: { ...task_metadata, title } };
  await api.put(`/tasks/${encodeURIComponent(id)}`, body).catch(() => {});
}
