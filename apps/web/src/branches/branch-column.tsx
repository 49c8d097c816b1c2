import type { ItemId } from '@millrace/core';
import {
  type ChatSource,
  errorText,
  ItemActionsContext,
  ItemView,
  isUnfinished,
  useSourceValue,
} from '@millrace/react';
import { Button } from '@millrace/react/controls';
import { type FormEvent, useEffect, useMemo, useState } from 'react';
import { useAccess, useApp, useDirectory, useListedTask } from '../app/app-context.ts';
import { Link } from '../app/route.tsx';
import { taskTitle } from '../app/task-text.ts';
import { rootOfBranch } from '../chat/branch/branch-tree.ts';
import { pageLabels } from '../languages/page-labels.ts';
import { changeTasks, maxNameLength } from '../sidebar/manage/task-actions.ts';

interface BranchColumnProps {
  readonly id: string;
  /** The task that the branch continues. */
  readonly original: string;
  /** The branch in the first column. The other branches are compared with it. */
  readonly first: string;
}

/** One branch: its name, its new messages while they stream, and what the user can do with it. */
export function BranchColumn({ id, original, first }: BranchColumnProps) {
  const t = pageLabels();
  const { directory, sources } = useApp();
  const live = sources.get(id);
  const listed = useListedTask(id);
  const title = listed === undefined ? t.sessionWithId(id.slice(0, 8)) : taskTitle(listed);
  const status = useSourceValue(live, selectStatus);
  useEffect(() => void directory.fetchTask(id), [directory, id]);
  const { after } = (listed?.task_metadata?.['branch'] ?? {}) as { readonly after?: unknown };
  return (
    <article className="branch-column" aria-label={title}>
      <header>
        <BranchName id={id} title={title} />
        <p role="status">
          {status === 'runs' && <span className="spinner" aria-hidden="true" />}
          {status === 'waits' ? t.waitsForApproval : status === 'runs' ? t.branchRuns : ''}
        </p>
        <nav aria-label={title}>
          <Link className="button" data-look="quiet" data-size="small" to={{ page: 'task', id }}>
            {status === 'waits' ? t.answer : t.chat}
          </Link>
          <Link
            className="button"
            data-look="quiet"
            data-size="small"
            title={id === first ? t.compareWithOriginal : t.compareWithFirst}
            to={{ page: 'diff', id, other: id === first ? original : first }}
          >
            {t.compareSessions}
          </Link>
          <KeepBranch id={id} />
        </nav>
      </header>
      <div className="branch-items">
        <NewItems source={live} after={typeof after === 'string' ? after : undefined} />
      </div>
    </article>
  );
}

const selectStatus = (source: ChatSource) =>
  source.state.asked.length > 0 ? 'waits' : isUnfinished(source) ? 'runs' : 'idle';
const selectItemIds = ({ itemIds }: ChatSource) => itemIds;
const noActions = { branches: () => undefined };

interface NewItemsProps {
  readonly source: ChatSource;
  /** The last item that the branch shares with the original. */
  readonly after: string | undefined;
}

/** The items that the branch does not share with the original. */
function NewItems({ source, after }: NewItemsProps) {
  const ids = useSourceValue(source, selectItemIds);
  const shown = useMemo(() => {
    const own = after === undefined ? ids : ids.slice(ids.indexOf(after as ItemId) + 1);
    // Results are part of the cards of their calls.
    return own.filter((id) => source.item(id)?.kind !== 'tool');
  }, [ids, after, source]);
  return (
    <ItemActionsContext value={noActions}>
      {shown.map((id) => (
        <ItemView key={id} source={source} id={id} />
      ))}
    </ItemActionsContext>
  );
}

/** The name of a branch. The user can change it in place. */
function BranchName({ id, title }: { readonly id: string; readonly title: string }) {
  const t = pageLabels();
  const app = useApp();
  const { isReadOnly } = useAccess();
  const [name, setName] = useState<string>();
  if (isReadOnly) return <h2>{title}</h2>;
  const save = () => {
    const given = name?.trim() ?? '';
    setName(undefined);
    if (given !== '' && given !== title)
      void changeTasks(app, [id], { title: given }).catch(() => {});
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save();
  };
  return (
    <form onSubmit={submit}>
      <h2 className="unseen">{title}</h2>
      <input
        aria-label={t.nameOfBranch}
        maxLength={maxNameLength}
        value={name ?? title}
        onChange={({ target }) => setName(target.value)}
        onBlur={save}
      />
    </form>
  );
}

/**
 * The button that makes a branch the main one: the session list then opens this branch. The other branches
 * stay below it, and the switch at the messages still reaches them.
 */
function KeepBranch({ id }: { readonly id: string }) {
  const t = pageLabels();
  const app = useApp();
  const { isReadOnly } = useAccess();
  const { tasks } = useDirectory();
  const [error, setError] = useState<string>();
  const root = tasks.find((task) => task.id === rootOfBranch(tasks, id));
  if (isReadOnly || root === undefined) return null;
  const isMain = root.task_metadata?.['main_branch'] === id;
  const keep = async () => {
    const { pinned = null, folder = null } = root.task_metadata ?? {};
    try {
      // The branch takes the place of the session in the list.
      await changeTasks(app, [id], { pinned, folder });
      await changeTasks(app, [root.id], { main_branch: id });
    } catch (reason) {
      setError(errorText(reason, t));
    }
  };
  return (
    <>
      <Button size="small" aria-pressed={isMain} disabled={isMain} onClick={() => void keep()}>
        {isMain ? t.mainBranch : t.keepBranch}
      </Button>
      {error !== undefined && <p role="alert">{error}</p>}
    </>
  );
}
