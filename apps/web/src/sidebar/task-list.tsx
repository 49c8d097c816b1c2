import { memo, useState } from 'react';
import { Link } from '../app/route.tsx';
import { statusBadge, taskTitle, waitingText } from '../app/task-text.ts';
import { conversationsOf } from '../chat/branch/branch-tree.ts';
import { Button } from '../design/button.tsx';
import { BranchIcon } from '../design/icons.tsx';
import { dayOrTime, TimeText } from '../design/time.tsx';
import type { ListedTask } from '../server/directory.ts';
import { type FindTasks, type TaskSearchResult, useTaskSearch } from './task-search.ts';

export interface TaskListProps {
  readonly tasks: readonly ListedTask[];
  readonly isLoaded: boolean;
  readonly current: string | undefined;
  /** True if the server has older tasks. */
  readonly hasMore: boolean;
  readonly onLoadMore: () => void;
  /** Searches on the server. Undefined if the list contains all tasks. */
  readonly find: FindTasks | undefined;
}

/** A list with at least this many tasks has a search field. */
const minTasksForSearch = 12;

export const TaskList = memo(function TaskList(props: TaskListProps) {
  const { tasks, isLoaded, current, hasMore, onLoadMore, find } = props;
  const [text, setText] = useState('');
  const query = text.trim().toLowerCase();
  const found = useTaskSearch(find, query, tasks);
  const shown =
    query === ''
      ? conversationsOf(tasks, (task) => rankOf(task, current))
      : mergeTasks(tasks, found.tasks).filter((task) => searchableText(task).includes(query));
  const waiting = tasks.filter((task) => task.awaits_approval === true).length;
  return (
    <div className="task-list">
      <h2>
        Sessions
        {waiting > 0 && <span className="task-list-waiting"> {waitingText(waiting)}</span>}
      </h2>
      {(tasks.length > minTasksForSearch || text !== '') && (
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
        <p className="task-list-empty">No sessions yet. Send a message to an agent to start one.</p>
      )}
      <ul>
        {shown.map((task) => (
          <li key={task.id}>
            <TaskLink task={task} isCurrent={task.id === current} />
          </li>
        ))}
      </ul>
      <p className="task-list-empty" role="status">
        {query !== '' && searchStatusText(found.state, shown.length)}
      </p>
      {hasMore && query === '' && (
        <div className="task-list-more">
          <Button size="small" look="quiet" onClick={onLoadMore}>
            Older sessions
          </Button>
        </div>
      )}
    </div>
  );
});

/** Returns which branch of a conversation the list shows: the open one, or one that asks a question. */
function rankOf({ id, awaits_approval }: ListedTask, current: string | undefined): number {
  return id === current ? 2 : awaits_approval === true ? 1 : 0;
}

/** The server's limit for a search text. */
const maxLength = 256;

/**
 * Merges two lists without duplicates. If a task is in both, the one from `list` is used, because
 * it is newer.
 */
function mergeTasks(
  list: readonly ListedTask[],
  found: readonly ListedTask[],
): readonly ListedTask[] {
  const known = new Set(list.map(({ id }) => id));
  return [...list, ...found.filter(({ id }) => !known.has(id))];
}

/** Returns the text of a task that a search compares, in lower case. */
function searchableText(task: ListedTask): string {
  const names = task.agents?.map(({ name }) => name) ?? [];
  return [taskTitle(task), task.name, ...names, task.id].join(' ').toLowerCase();
}

function searchStatusText(state: TaskSearchResult['state'], count: number): string {
  switch (state) {
    case 'asking':
      return 'Searching older sessions …';
    case 'failed':
      return 'Older sessions could not be searched because the server did not answer.';
    case 'none':
    case 'found':
      return count === 0 ? 'No session matches.' : '';
  }
}

/** A session in the list, with its agent, state and time. */
const TaskLink = memo(function TaskLink({
  task,
  isCurrent,
}: {
  readonly task: ListedTask;
  readonly isCurrent: boolean;
}) {
  // A question is more urgent than a status, and a status such as "stopped" more exact than
  // "in progress": messages that wait for a stopped agent count as unfinished work.
  const status = task.awaits_approval === true ? undefined : statusBadge(task.status);
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
        {status === undefined && <WorkState task={task} />}
        {status !== undefined && <span data-look={status.look}>{status.text}</span>}
        {!Number.isNaN(at) && <TimeText at={at} format={dayOrTime} />}
      </span>
    </Link>
  );
});

/**
 * Shows whether the session is in progress. If an approval is required, it shows that instead,
 * because the session cannot continue by itself.
 */
function WorkState({ task }: { readonly task: ListedTask }) {
  const isWaiting = task.awaits_approval === true;
  if (!isWaiting && task.is_at_work !== true) return null;
  return (
    <span className="task-link-work" data-waiting={isWaiting || undefined}>
      <span className="task-link-dot" aria-hidden="true" />
      {isWaiting ? 'waits for you' : 'in progress'}
    </span>
  );
}
