import { memo, useState } from 'react';
import { Link } from '../app/route.tsx';
import { statusLook, taskTitle, waitingWords } from '../app/task-text.ts';
import { Button } from '../design/button.tsx';
import { BranchIcon } from '../design/icons.tsx';
import { dayOrTime, TimeText } from '../design/time.tsx';
import type { ListedTask } from '../server/directory.ts';
import { type FindTasks, type FoundTasks, useFoundTasks } from './task-search.ts';

export interface TaskListProps {
  readonly tasks: readonly ListedTask[];
  readonly isLoaded: boolean;
  readonly current: string | undefined;
  /** There are older ones. */
  readonly isMore: boolean;
  readonly onMore: () => void;
  /** Asks the server; undefined where all that it has is in the list. */
  readonly find: FindTasks | undefined;
}

/** So many are seen at a glance. */
const few = 12;

export const TaskList = memo(function TaskList(props: TaskListProps) {
  const { tasks, isLoaded, current, isMore, onMore, find } = props;
  const [text, setText] = useState('');
  const wanted = text.trim().toLowerCase();
  const found = useFoundTasks(find, wanted, tasks);
  const shown =
    wanted === ''
      ? tasks
      : joined(tasks, found.tasks).filter((task) => wordsOf(task).includes(wanted));
  const waiting = tasks.filter((task) => task.awaits_approval === true).length;
  return (
    <div className="task-list">
      <h2>
        Sessions
        {waiting > 0 && <span className="task-list-waiting"> {waitingWords(waiting)}</span>}
      </h2>
      {(tasks.length > few || text !== '') && (
        <input
          type="search"
          className="task-list-search"
          aria-label="Find a session"
          placeholder="Find by name"
          maxLength={maxLength}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
      )}
      {isLoaded && tasks.length === 0 && (
        <p className="task-list-empty">None yet. What you say to an agent is kept here.</p>
      )}
      <ul>
        {shown.map((task) => (
          <li key={task.id}>
            <TaskLink task={task} isCurrent={task.id === current} />
          </li>
        ))}
      </ul>
      <p className="task-list-empty" role="status">
        {wanted !== '' && searchWords(found.state, shown.length)}
      </p>
      {isMore && wanted === '' && (
        <div className="task-list-more">
          <Button size="small" look="quiet" onClick={onMore}>
            Older sessions
          </Button>
        </div>
      )}
    </div>
  );
});

/** What the server takes. */
const maxLength = 256;

/** Each once: what the list says of one is newer. */
function joined(list: readonly ListedTask[], found: readonly ListedTask[]): readonly ListedTask[] {
  const known = new Set(list.map(({ id }) => id));
  return [...list, ...found.filter(({ id }) => !known.has(id))];
}

/** What one would look for it by. */
function wordsOf(task: ListedTask): string {
  const names = task.agents?.map(({ name }) => name) ?? [];
  return [taskTitle(task), task.name, ...names, task.id].join(' ').toLowerCase();
}

function searchWords(state: FoundTasks['state'], count: number): string {
  switch (state) {
    case 'asking':
      return 'Looking among the older ones …';
    case 'failed':
      return 'The older ones could not be looked through: the server did not answer.';
    case 'none':
    case 'found':
      return count === 0 ? 'No session has that in its name.' : '';
  }
}

/** A session in the list, and what there is to say of it at a glance. */
export const TaskLink = memo(function TaskLink({
  task,
  isCurrent,
}: {
  readonly task: ListedTask;
  readonly isCurrent: boolean;
}) {
  const status = statusLook(task.status);
  const at = Date.parse(task.updated_at ?? '');
  return (
    <Link
      to={{ page: 'task', id: task.id }}
      className="task-link"
      aria-current={isCurrent ? 'page' : undefined}
    >
      <span className="task-link-title">
        {task.task_metadata?.['branch'] !== undefined && <BranchIcon />}
        {taskTitle(task)}
      </span>
      <span className="task-link-words">
        <span>{task.agents?.[0]?.name ?? 'unknown agent'}</span>
        <Work task={task} />
        {status !== undefined && <span data-look={status.look}>{status.words}</span>}
        {!Number.isNaN(at) && <TimeText at={at} format={dayOrTime} />}
      </span>
    </Link>
  );
});

/** Whether something goes on in it. That it waits for somebody comes first: it does not go on by itself. */
function Work({ task }: { readonly task: ListedTask }) {
  const isWaiting = task.awaits_approval === true;
  if (!isWaiting && task.is_at_work !== true) return null;
  return (
    <span className="task-link-work" data-waiting={isWaiting || undefined}>
      <span className="task-link-dot" aria-hidden="true" />
      {isWaiting ? 'waits for you' : 'in progress'}
    </span>
  );
}
