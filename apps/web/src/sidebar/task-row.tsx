import {
  BranchIcon,
  DotsIcon,
  dayOrTime,
  IconButton,
  lazyView,
  TimeText,
} from '@millrace/react/controls';
import { memo, Suspense } from 'react';
import { Link } from '../app/route.tsx';
import { statusBadge, taskTitle } from '../app/task-text.ts';
import { pageLabels } from '../languages/page-labels.ts';
import type { ListedTask } from '../server/directory.ts';

const RenameField = lazyView(async () => (await import('./manage/rename-field.tsx')).RenameField);

export interface TaskRowProps {
  readonly task: ListedTask;
  readonly isCurrent: boolean;
  readonly isRenaming: boolean;
  /** True if the session is selected. Undefined while the user is not selecting sessions. */
  readonly isSelected: boolean | undefined;
  readonly actions: TaskRowActions | undefined;
}

/** The callbacks for actions on a row. */
export interface TaskRowActions {
  readonly onMenu: (task: ListedTask, anchor: HTMLElement) => void;
  readonly onToggle: (task: ListedTask) => void;
  /** Called when the title field closes. `byKey` is true if the user closed it with a key. */
  readonly onRenamed: (task: ListedTask, byKey: boolean) => void;
}

/** A session in the list: a link, and a menu button or a checkbox. */
export const TaskRow = memo(function TaskRow(props: TaskRowProps) {
  const t = pageLabels();
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
          aria-label={t.selectTask(taskTitle(task))}
          checked={isSelected}
          onChange={() => actions?.onToggle(task)}
        />
      )}
      <TaskLink task={task} isCurrent={isCurrent} />
      {isSelected === undefined && actions !== undefined && (
        <IconButton
          label={t.actionsFor(taskTitle(task))}
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
  // An approval request is more urgent than a status, so it replaces the status. A status such as
  // "stopped" replaces "in progress". Messages that wait for a stopped agent also count as work in
  // progress.
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
        <span>{task.agents?.[0]?.name ?? pageLabels().unknownAgent}</span>
        {status === undefined && <WorkState task={task} />}
        {status !== undefined && <span data-look={status.look}>{pageLabels()[status.text]}</span>}
        {!Number.isNaN(at) && <TimeText at={at} format={dayOrTime} />}
      </span>
    </Link>
  );
}

/**
 * Shows that the session is in progress. If it waits for an approval, it shows this instead,
 * because the user must act.
 */
function WorkState({ task }: { readonly task: ListedTask }) {
  const isWaiting = task.awaits_approval === true;
  if (!isWaiting && task.is_at_work !== true) return null;
  return (
    <span className="task-link-work" data-waiting={isWaiting || undefined}>
      <span className="task-link-dot" aria-hidden="true" />
      {isWaiting ? pageLabels().waitsForYou : pageLabels().inProgress}
    </span>
  );
}
