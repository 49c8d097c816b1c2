import type { TaskSummary } from '@millrace/client';
import type { Api } from './api.ts';

const maxLength = 80;

/** Calls a session by the first line of what was said. Without a title it is a session as well. */
export async function setTitle(
  api: Api,
  { id, task_metadata }: Pick<TaskSummary, 'id' | 'task_metadata'>,
  text: string,
): Promise<void> {
  const [line = ''] = text.trim().split('\n', 1);
  const title = line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line;
  const body = { task_metadata: { ...task_metadata, title } };
  await api.put(`/tasks/${encodeURIComponent(id)}`, body).catch(() => {});
}
