import { errorText } from '@millrace/react';
import { Button, Dialog, dayOrTime, TimeText } from '@millrace/react/controls';
import { useCallback, useEffect, useState } from 'react';
import { useApp } from '../../app/app-context.ts';
import { Link } from '../../app/route.tsx';
import { taskTitle } from '../../app/task-text.ts';
import { pageLabels } from '../../languages/page-labels.ts';
import type { ListedTask } from '../../server/directory.ts';
import { changeTasks } from './task-actions.ts';

const pageSize = 50;

/**
 * Lists the archived sessions, page by page. The user can open a session or move it back to the
 * session list.
 */
export function ArchivedDialog({ onClose }: { readonly onClose: () => void }) {
  const t = pageLabels();
  const app = useApp();
  const [tasks, setTasks] = useState<readonly ListedTask[]>();
  const [next, setNext] = useState<string>();
  const [error, setError] = useState<string>();
  const { api } = app;
  const load = useCallback(
    async (cursor: string | undefined, signal: AbortSignal) => {
      const after = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      try {
        const page = await api.page(
          `/tasks?place=archived&relationships=agents&limit=${pageSize}${after}`,
          signal,
        );
        const found = page.data as unknown as readonly ListedTask[];
        setTasks((before = []) => (cursor === undefined ? found : [...before, ...found]));
        setNext(page.next);
      } catch (reason) {
        if (!signal.aborted) setError(errorText(reason, t));
      }
    },
    [api, t],
  );
  useEffect(() => {
    const controller = new AbortController();
    void load(undefined, controller.signal);
    return () => controller.abort();
  }, [load]);
  const restore = async (id: string) => {
    try {
      await changeTasks(app, [id], { archived: null });
      setTasks((before) => before?.filter((task) => task.id !== id));
    } catch (reason) {
      setError(errorText(reason, t));
    }
  };
  return (
    <Dialog title={t.archivedSessions} onClose={onClose}>
      {error !== undefined && <p role="alert">{error}</p>}
      {tasks === undefined && error === undefined && <p>{t.loading}</p>}
      {tasks?.length === 0 && <p className="manage-note">{t.nothingArchived}</p>}
      <ul className="archived-list">
        {tasks?.map((task) => (
          <li key={task.id}>
            <Link to={{ page: 'task', id: task.id }} onClick={onClose}>
              {taskTitle(task)}
            </Link>
            <TimeText at={Date.parse(task.updated_at ?? '') || 0} format={dayOrTime} />
            <Button
              size="small"
              aria-label={t.putTaskBack(taskTitle(task))}
              onClick={() => void restore(task.id)}
            >
              {t.putBack}
            </Button>
          </li>
        ))}
      </ul>
      {next !== undefined && (
        <Button size="small" onClick={() => void load(next, new AbortController().signal)}>
          {t.more}
        </Button>
      )}
    </Dialog>
  );
}
