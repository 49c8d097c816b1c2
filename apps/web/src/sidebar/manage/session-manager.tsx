import { errorText } from '@millrace/react';
import { Button, Dialog } from '@millrace/react/controls';
import { useState } from 'react';
import { useApp } from '../../app/app-context.ts';
import { taskTitle } from '../../app/task-text.ts';
import { pageLabels } from '../../languages/page-labels.ts';
import type { ListedTask } from '../../server/directory.ts';
import { isPinned } from '../task-groups.ts';
import { ArchivedDialog } from './archived-dialog.tsx';
import { FolderDialog } from './folder-dialog.tsx';
import { changeTasks, deleteTasks, type ManageRequest } from './task-actions.ts';
import { type MenuAction, TaskMenu } from './task-menu.tsx';
import '../../app/forms.css';
import './manage.css';

export interface SessionManagerProps {
  readonly request: ManageRequest;
  /** The names of the existing folders. */
  readonly folders: readonly string[];
  /**
   * Called to show a different menu or dialog, for example a confirmation after a menu entry.
   * Undefined closes it.
   */
  readonly onRequest: (request: ManageRequest | undefined) => void;
  readonly onRename: (task: ListedTask) => void;
  readonly onSelect: (task: ListedTask) => void;
  /** Called after an action on the sessions has succeeded. */
  readonly onDone: () => void;
}

/** Shows the menu of a session and the dialogs of the session list. Also performs their actions. */
export function SessionManager(props: SessionManagerProps) {
  const t = pageLabels();
  const { request, folders, onRequest, onRename, onSelect, onDone } = props;
  const app = useApp();
  const [error, setError] = useState<string>();
  const close = () => onRequest(undefined);
  const run = async (work: Promise<void>) => {
    setError(undefined);
    try {
      await work;
      close();
      onDone();
    } catch (reason) {
      setError(errorText(reason, pageLabels()));
    }
  };
  const act = (task: ListedTask, action: MenuAction) => {
    switch (action) {
      case 'rename':
        close();
        return onRename(task);
      case 'select':
        close();
        return onSelect(task);
      case 'folder':
      case 'delete':
        return onRequest({ kind: action, tasks: [task] });
      case 'pin':
        return void run(changeTasks(app, [task.id], { pinned: isPinned(task) ? null : true }));
      case 'archive':
        return void run(changeTasks(app, [task.id], { archived: true }));
    }
  };
  if (error !== undefined)
    return (
      <Dialog title={t.actionFailed} onClose={close}>
        <p role="alert">{error}</p>
      </Dialog>
    );
  switch (request.kind) {
    case 'menu':
      return (
        <TaskMenu
          {...{ task: request.task, anchor: request.anchor }}
          onAction={(action) => act(request.task, action)}
          onClose={close}
        />
      );
    case 'folder':
      return (
        <FolderDialog
          {...{ tasks: request.tasks, folders }}
          onFolder={(folder) => void run(changeTasks(app, idsOf(request.tasks), { folder }))}
          onClose={close}
        />
      );
    case 'delete':
      return (
        <DeleteDialog
          tasks={request.tasks}
          onDelete={() => void run(deleteTasks(app, idsOf(request.tasks)))}
          onClose={close}
        />
      );
    case 'archived':
      return <ArchivedDialog onClose={close} />;
  }
}

function idsOf(tasks: readonly ListedTask[]): readonly string[] {
  return tasks.map(({ id }) => id);
}

interface DeleteDialogProps {
  readonly tasks: readonly ListedTask[];
  readonly onDelete: () => void;
  readonly onClose: () => void;
}

function DeleteDialog({ tasks, onDelete, onClose }: DeleteDialogProps) {
  const t = pageLabels();
  const [isDeleting, setDeleting] = useState(false);
  const [first] = tasks;
  return (
    <Dialog title={tasks.length === 1 ? t.deleteTheSession : t.deleteTheSessions} onClose={onClose}>
      <div className="form">
        <p>
          {tasks.length === 1 && first !== undefined
            ? t.deleteOneText(taskTitle(first))
            : t.deleteManyText(tasks.length)}
        </p>
        <div className="manage-buttons">
          <Button
            look="danger"
            disabled={isDeleting}
            onClick={() => {
              setDeleting(true);
              onDelete();
            }}
          >
            {t.deleteNow}
          </Button>
          <Button onClick={onClose}>{t.keep}</Button>
        </div>
      </div>
    </Dialog>
  );
}
