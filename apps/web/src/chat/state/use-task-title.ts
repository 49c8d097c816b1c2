import { useListedTask } from '../../app/app-context.ts';
import { taskTitle } from '../../app/task-words.ts';
import type { LiveSource } from './live-source.ts';
import { useTaskRow } from './use-live.ts';

/** What a session is called, by its own stream or, until that says so, by the list. */
export function useTaskTitle(live: LiveSource): string {
  const listed = useListedTask(live.id);
  const task = useTaskRow(live) ?? listed;
  return task === undefined ? 'Session' : taskTitle({ ...listed, ...task });
}
