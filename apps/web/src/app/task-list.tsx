import { memo } from 'react';
import { BranchIcon } from '../design/icons.tsx';
import { dayOrTime } from '../design/time.ts';
import type { ListedTask } from './directory.ts';
import { Link } from './link.tsx';
import { statusLook, taskTitle } from './task-words.ts';

export interface TaskListProps {
  readonly tasks: readonly ListedTask[];
  readonly isLoaded: boolean;
  readonly current: string | undefined;
}

export const TaskList = memo(function TaskList({ tasks, isLoaded, current }: TaskListProps) {
  return (
    <div className="task-list">
      <h2>Sessions</h2>
      {isLoaded && tasks.length === 0 && (
        <p className="task-list-empty">None yet. What you say to an agent is kept here.</p>
      )}
      <ul>
        {tasks.map((task) => (
          <li key={task.id}>
            <TaskLink task={task} isCurrent={task.id === current} />
          </li>
        ))}
      </ul>
    </div>
  );
});

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
        {status !== undefined && <span data-look={status.look}>{status.words}</span>}
        {!Number.isNaN(at) && <time dateTime={task.updated_at ?? ''}>{dayOrTime(at)}</time>}
      </span>
    </Link>
  );
});
