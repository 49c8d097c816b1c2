import type { Task } from '../contract/task.ts';

type Called = Pick<Task, 'id' | 'name' | 'task_metadata'>;

/** Is the text in what a task is called by, in whatever case? An empty one is in each. */
export function isListedBy({ id, name, task_metadata }: Called, text: string): boolean {
  const wanted = text.toLowerCase();
  return [task_metadata?.['title'], name, id].some(
    (words) => typeof words === 'string' && words.toLowerCase().includes(wanted),
  );
}
