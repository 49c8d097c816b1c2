import { useEffect, useMemo } from 'react';
import { useApp, useDirectory, useListedTask } from '../app/app-context.ts';
import { taskTitle } from '../app/task-text.ts';
import { SessionFrame } from '../chat/session-frame.tsx';
import { pageLabels } from '../languages/page-labels.ts';
import type { ListedTask } from '../server/directory.ts';
import { BranchColumn } from './branch-column.tsx';
import './branches-page.css';

interface BranchesPageProps {
  /** The task that the branches continue. */
  readonly id: string;
  /** The branches to show. Undefined means the newest branches of the task. */
  readonly shown: readonly string[] | undefined;
}

/** Maximum number of columns. Each column reads a stream. */
const maxColumns = 6;

/** The page that shows branches of a task side by side while they stream. */
export function BranchesPage({ id, shown }: BranchesPageProps) {
  const t = pageLabels();
  const { directory } = useApp();
  const { tasks } = useDirectory();
  const listed = useListedTask(id);
  const title = listed === undefined ? t.sessionWithId(id.slice(0, 8)) : taskTitle(listed);
  const ids = useMemo(
    () => (shown ?? branchesOf(tasks, id)).slice(0, maxColumns),
    [shown, tasks, id],
  );
  useEffect(() => void directory.fetchTask(id), [directory, id]);
  return (
    <SessionFrame id={id} title={title} subject={t.branchesSideBySide}>
      {ids.length === 0 ? (
        <p className="branches-none">{t.noBranches}</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls the columns
        <section className="branches-columns" aria-label={t.branchesSideBySide} tabIndex={0}>
          {ids.map((branch) => (
            <BranchColumn key={branch} id={branch} original={id} first={ids[0] ?? branch} />
          ))}
        </section>
      )}
    </SessionFrame>
  );
}

/** Returns the branches of a task, the newest first. */
function branchesOf(tasks: readonly ListedTask[], id: string): readonly string[] {
  return tasks
    .filter(({ task_metadata }) => {
      const { of } = (task_metadata?.['branch'] ?? {}) as { readonly of?: unknown };
      return of === id;
    })
    .map((task) => task.id);
}
