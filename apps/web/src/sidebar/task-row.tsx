import { lazy, memo, Suspense } from 'react';
import { Link } from '../app/route.tsx';
import { statusBadge, taskTitle } from '../app/task-text.ts';
import { IconButton } from '../design/button.tsx';
import { BranchIcon, DotsIcon } from '../design/icons.tsx';
import { dayOrTime, TimeText } from '../design/time.tsx';
import type { ListedTask } from '../server/directory.ts';

const RenameField = lazy(async () => ({
  default: (await import('./manage/rename-field.tsx')).RenameField,
}));

export interface TaskRowProps {
  readonly task: ListedTask;
  readonly isCurrent: boolean;
  readonly isRenaming: boolean;
  /** Whether the session is selected. Undefined if the user selects no sessions. */
  readonly isSelected: boolean | undefined;
  readonly actions: TaskRowActions | undefined;
}

/** What the user can do with a row. */
export interface TaskRowActions {
  readonly onMenu: (task: ListedTask, anchor: HTMLElement) => void;
  readonly onToggle: (task: ListedTask) => void;
  /** Called when the field for the title closes. `byKey` is true if a key closed it. */
  readonly onRenamed: (task: ListedTask, byKey: boolean) => void;
}

/** A session in the list: a link, and a button for its menu or a box that selects it. */
export const TaskRow = memo(function TaskRow(props: TaskRowProps) {
  const { task, isCurrent, isRenaming, isSelected, actions } = props;
  if (isRenaming && actions !== undefined)
    return (
      <Suspense fallback={<TaskLink task={task} isCurrent={isCurrent} />}>
        <RenameField task={task} onDone={(byKey) => actions.onRenamed(task, byKey)} />
      </Suspense>
    );
  return (
    <div className="task-row">
      {isSelected !== undefined && (
        <input
          type="checkbox"
          aria-label={`Select ${taskTitle(task)}`}
          checked={isSelected}
          onChange={() => actions?.onToggle(task)}
        />
      )}
      <TaskLink task={task} isCurrent={isCurrent} />
      {isSelected === undefined && actions !== undefined && (
        <IconButton
          label={`Actions for ${taskTitle(task)}`}
          size="small"
          aria-haspopup="menu"
          onClick={({ currentTarget }) => actions.onMenu(task, currentTarget)}
        >
          <DotsIcon />
        </IconButton>
      )}
    </div>
  );
});

interface TaskLinkProps {
  readonly task: ListedTask;
  readonly isCurrent: boolean;
}

/** A link to a session, with its agent, state and time. */
function TaskLink({ task, isCurrent }: TaskLinkProps) {
  // A question is more urgent than a status, and a status such as "stopped" more exact than
  // "in progress": messages that wait for a stopped agent count as unfinished work.
  const status = task.awaits_approval === true ? undefined : statusBadge(task.status);
  const at = Date.parse(task.updated_at ?? '');
  return (
    <Link
      to={{ page: 'task', id: task.id }}
      className="task-link"
      data-task={task.id}
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
}

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
