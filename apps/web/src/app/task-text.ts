import type { TaskStatus, TaskSummary } from '@millrace/client';
import { pageLabels, type TextKey } from '../languages/page-labels.ts';
import type { Api } from '../server/api.ts';

/**
 * Returns the title of a session. Without a title, it returns the name of the session, or a short
 * form of its id.
 */
export function taskTitle({
  id,
  name,
  task_metadata,
}: Pick<TaskSummary, 'id' | 'name' | 'task_metadata'>) {
  const title = task_metadata?.['title'];
  return typeof title === 'string' && title !== ''
    ? title
    : (name ?? pageLabels().sessionWithId(id.slice(0, 8)));
}

interface StatusBadge {
  readonly look: 'plain' | 'warn' | 'bad';
  readonly text: TextKey;
}

/** Returns the badge for a status. Returns undefined if the session runs or can continue. */
export function statusBadge(status: TaskStatus | null): StatusBadge | undefined {
  switch (status) {
    case null:
    case 'RUNNING':
      return undefined;
    case 'INTERRUPTED':
      return { look: 'plain', text: 'stopped' };
    case 'COMPLETED':
      return { look: 'plain', text: 'completed' };
    case 'CANCELED':
    case 'TERMINATED':
    case 'DELETED':
      return { look: 'plain', text: 'closed' };
    case 'FAILED':
      return { look: 'bad', text: 'failed' };
    case 'TIMED_OUT':
      return { look: 'bad', text: 'timedOut' };
  }
}

/** Returns a text about the number of sessions that wait for an approval. */
export function waitingText(count: number): string {
  return pageLabels().waitForYou(count);
}

const maxLength = 80;

/**
 * Sets the title of a session to the first line of a text. Errors are ignored, because a title is
 * optional.
 */
export async function setTaskTitle(api: Api, id: string, text: string): Promise<void> {
  const [line = ''] = text.trim().split('\n', 1);
  const title = line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line;
  const body = { merge_metadata: { title } };
  await api.put(`/tasks/${encodeURIComponent(id)}`, body).catch(() => {});
}
