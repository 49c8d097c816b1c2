import type { TodoState, TodoTask } from '@millrace/tools';
import { clipText, type Look, withRole, withTone } from './look.ts';

/** Maximum number of tasks above the prompt. */
const maxLiveTasks = 5;

const marks: Readonly<Record<TodoState, string>> = { open: '○', doing: '▸', done: '✓' };
const words: Readonly<Record<TodoState, string>> = { open: 'open:', doing: 'now:', done: 'done:' };

/** Draws all tasks, for the scrollback. */
export function taskLines(
  look: Look,
  tasks: readonly TodoTask[],
  margin = '  ',
): readonly string[] {
  return tasks.map((task) => taskLine(look, task, margin));
}

/**
 * Draws the tasks that are not done, for the live region above the prompt. Returns no lines if every task is
 * done.
 */
export function liveTaskLines(look: Look, tasks: readonly TodoTask[]): readonly string[] {
  const open = tasks.filter(({ state }) => state !== 'done');
  if (open.length === 0) return [];
  const shown = [...open].sort((a, b) => rank(a) - rank(b)).slice(0, maxLiveTasks);
  const more = open.length > shown.length ? `, ${open.length - shown.length} more` : '';
  const head = `Tasks: ${tasks.length - open.length} of ${tasks.length} done${more}`;
  return [withTone(look, 'dim', clipText(head, look.width)), ...taskLines(look, shown)];
}

/** Returns the sort position of a task. The task that the agent works on comes first. */
function rank({ state }: TodoTask): number {
  return state === 'doing' ? 0 : 1;
}

function taskLine(look: Look, { text, state }: TodoTask, margin: string): string {
  const mark = (look.isPlain === true ? words : marks)[state];
  const line = `${margin}${mark} ${clipText(text, look.width - margin.length - mark.length - 1)}`;
  if (state === 'doing') return withRole(look, 'strong', line);
  return state === 'done' ? withTone(look, 'dim', line) : line;
}
