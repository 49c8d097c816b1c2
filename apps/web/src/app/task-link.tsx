import { memo } from 'react';
import { BranchIcon } from '../design/icons.tsx';
import { dayOrTime } from '../design/time.ts';
import { TimeText } from '../design/time-text.tsx';
import type { ListedTask } from './directory.ts';
import { Link } from './link.tsx';
import { statusLook, taskTitle } from './task-words.ts';

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
