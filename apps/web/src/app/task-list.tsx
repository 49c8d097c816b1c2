import { memo, useState } from 'react';
import { Button } from '../design/button.tsx';
import { BranchIcon } from '../design/icons.tsx';
import { dayOrTime } from '../design/time.ts';
import { TimeText } from '../design/time-text.tsx';
import type { ListedTask } from './directory.ts';
import { Link } from './link.tsx';
import { statusLook, taskTitle } from './task-words.ts';

export interface TaskListProps {
  readonly tasks: readonly ListedTask[];
  readonly isLoaded: boolean;
  readonly current: string | undefined;
  /** There are older ones. */
  readonly isMore: boolean;
  readonly onMore: () => void;
  /** Somebody looks for one: all that can be had are wanted. */
  readonly onSearch: () => void;
}

/** So many are seen at a glance. */
const few = 12;

export const TaskList = memo(function TaskList(props: TaskListProps) {
  const { tasks, isLoaded, current, isMore, onMore, onSearch } = props;
  const [text, setText] = useState('');
  const wanted = text.trim().toLowerCase();
  const shown = wanted === '' ? tasks : tasks.filter((task) => wordsOf(task).includes(wanted));
  return (
    <div className="task-list">
      <h2>Sessions</h2>
      {(tasks.length > few || text !== '') && (
        <input
          type="search"
          className="task-list-search"
          aria-label="Find a session"
          placeholder="Find by name"
          value={text}
          onChange={({ target }) => {
            setText(target.value);
            onSearch();
          }}
        />
      )}
      {isLoaded && tasks.length === 0 && (
        <p className="task-list-empty">None yet. What you say to an agent is kept here.</p>
      )}
      {tasks.length > 0 && shown.length === 0 && (
        <p className="task-list-empty">No session has that in its name.</p>
      )}
      <ul>
        {shown.map((task) => (
          <li key={task.id}>
            <TaskLink task={task} isCurrent={task.id === current} />
          </li>
        ))}
      </ul>
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

/** What one would look for it by. */
function wordsOf(task: ListedTask): string {
  const names = task.agents?.map(({ name }) => name) ?? [];
  return [taskTitle(task), ...names, task.id].join(' ').toLowerCase();
}

const TaskLink = memo(function TaskLink({
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
        {task.is_at_work === true && (
          <span className="task-link-work">
            <span className="task-link-dot" aria-hidden="true" />
            in progress
          </span>
        )}
        {status !== undefined && <span data-look={status.look}>{status.words}</span>}
        {!Number.isNaN(at) && <TimeText at={at} format={dayOrTime} />}
      </span>
    </Link>
  );
});
