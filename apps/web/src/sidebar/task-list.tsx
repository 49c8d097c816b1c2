import {
  ArchiveIcon,
  Button,
  FolderIcon,
  IconButton,
  lazyView,
  monthOf,
  PinIcon,
  Skeleton,
  TimeText,
  useKey,
} from '@millrace/react/controls';
import {
  type KeyboardEvent,
  memo,
  type ReactNode,
  Suspense,
  useMemo,
  useRef,
  useState,
} from 'react';
import { Link, type Route } from '../app/route.tsx';
import { taskTitle, waitingText } from '../app/task-text.ts';
import { pageLabels } from '../languages/page-labels.ts';
import type { ListedTask } from '../server/directory.ts';
import type { ManageRequest } from './manage/task-actions.ts';
import { folderOf, groupTasks, type TaskFamily, type TaskGroup } from './task-groups.ts';
import { TaskRow, type TaskRowActions } from './task-row.tsx';
import {
  type FindTasks,
  minContentLength,
  type TaskSearchResult,
  useTaskSearch,
} from './task-search.ts';

// These components are loaded on demand, because the user needs them only after a click.
const SessionManager = lazyView(
  async () => (await import('./manage/session-manager.tsx')).SessionManager,
);
const SelectionBar = lazyView(
  async () => (await import('./manage/selection-bar.tsx')).SelectionBar,
);

export interface TaskListProps {
  readonly tasks: readonly ListedTask[];
  readonly isLoaded: boolean;
  readonly current: string | undefined;
  /** True if the server has older tasks. */
  readonly hasMore: boolean;
  readonly onLoadMore: () => void;
  /** Searches on the server. Undefined if the page already has all tasks. */
  readonly find: FindTasks | undefined;
  /** Shows the sessions whose messages contain a text. Default: messages are not searched. */
  readonly renderContent?: ((text: string) => ReactNode) | undefined;
  /** True if the user may not change sessions. Default: false. */
  readonly isReadOnly?: boolean | undefined;
}

/** A list with more tasks than this has a search field. */
const minTasksForSearch = 1;

/**
 * The session list in groups, with a search field, a menu for each session, and actions on several
 * sessions.
 */
export const TaskList = memo(function TaskList(props: TaskListProps) {
  const t = pageLabels();
  const { tasks, isLoaded, current, hasMore, onLoadMore, find, isReadOnly = false } = props;
  const { renderContent } = props;
  const [text, setText] = useState('');
  const [request, setRequest] = useState<ManageRequest>();
  const [renaming, setRenaming] = useState<string>();
  const [selected, setSelected] = useState<ReadonlySet<string>>();
  const list = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLInputElement>(null);
  useKey('ctrl+k', () => field.current?.focus());
  const query = text.trim().toLowerCase();
  // The results in messages have their own status below the names.
  const searchesMessages = renderContent !== undefined && query.length >= minContentLength;
  const found = useTaskSearch(find, query, tasks);
  const shown =
    query === ''
      ? tasks
      : mergeTasks(tasks, found.tasks).filter((task) => searchableText(task).includes(query));
  const groups = useMemo(() => groupTasks(tasks, Date.now()), [tasks]);
  const waiting = tasks.filter((task) => task.awaits_approval === true).length;
  const actions = useMemo<TaskRowActions>(
    () => ({
      onMenu: (task, anchor) => setRequest({ kind: 'menu', task, anchor }),
      onToggle: ({ id }) =>
        setSelected((before = new Set()) => before.symmetricDifference(new Set([id]))),
      onRenamed: ({ id }, byKey) => {
        setRenaming(undefined);
        // The link replaces the field in the next frame and then gets the focus. If the user closed
        // the field with a click, the focus stays at the clicked element.
        if (byKey) requestAnimationFrame(() => linkOf(list.current, id)?.focus());
      },
    }),
    [],
  );
  const row = (task: ListedTask) => (
    <TaskRow
      {...{ task, isCurrent: task.id === current, isRenaming: task.id === renaming }}
      isSelected={selected?.has(task.id)}
      actions={isReadOnly ? undefined : actions}
    />
  );
  const press = (event: KeyboardEvent) => {
    if (moveFocus(event, list.current)) return event.preventDefault();
    const id = (event.target as HTMLElement).dataset?.['task'];
    const task = shown.find((one) => one.id === id);
    if (task === undefined || isReadOnly) return;
    if (event.key === 'F2') setRenaming(task.id);
    else if (event.key === 'Delete') setRequest({ kind: 'delete', tasks: [task] });
    else return;
    event.preventDefault();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys belong to the links in the list
    <div className="task-list" ref={list} onKeyDown={press}>
      <h2>
        {t.sessions}
        {waiting > 0 && <span className="task-list-waiting"> {waitingText(waiting)}</span>}
        {!isReadOnly && (
          <IconButton
            label={t.archivedSessions}
            size="small"
            onClick={() => setRequest({ kind: 'archived' })}
          >
            <ArchiveIcon />
          </IconButton>
        )}
      </h2>
      {(tasks.length > minTasksForSearch || text !== '') && (
        <input
          type="search"
          ref={field}
          className="task-list-search"
          aria-label={t.findASession}
          placeholder={t.findSessionHint}
          maxLength={maxLength}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
      )}
      {!isLoaded && tasks.length === 0 && (
        <div className="task-list-wait">
          <Skeleton label={t.loadingTheSessions} bars={['middle', 'short', 'full', 'short']} />
        </div>
      )}
      {isLoaded && tasks.length === 0 && <p className="task-list-empty">{t.noSessionsHint}</p>}
      {query === '' ? (
        groups.map((group) => <Group key={group.key} {...{ group, current, row }} />)
      ) : (
        <ul>
          {shown.map((task) => (
            <li key={task.id}>{row(task)}</li>
          ))}
        </ul>
      )}
      <p className="task-list-empty" role="status">
        {query !== '' && searchStatusText(found.state, shown.length > 0 || searchesMessages)}
      </p>
      {query !== '' && renderContent?.(text.trim())}
      {hasMore && query === '' && (
        <div className="task-list-more">
          <Button size="small" look="quiet" onClick={onLoadMore}>
            {t.olderSessions}
          </Button>
        </div>
      )}
      <Suspense>
        {selected !== undefined && (
          <SelectionBar
            tasks={shown.filter(({ id }) => selected.has(id))}
            onRequest={setRequest}
            onDone={() => setSelected(undefined)}
          />
        )}
        {request !== undefined && (
          <SessionManager
            // A new key resets the state, so that a new request does not show the error of the
            // previous request.
            key={request.kind}
            request={request}
            folders={foldersOf(tasks)}
            onRequest={setRequest}
            onRename={({ id }) => setRenaming(id)}
            onSelect={({ id }) => setSelected(new Set([id]))}
            onDone={() => setSelected(undefined)}
          />
        )}
      </Suspense>
    </div>
  );
});

interface GroupProps {
  readonly group: TaskGroup;
  readonly current: string | undefined;
  readonly row: (task: ListedTask) => ReactNode;
}

/** Shows a group of the session list. If the group is a folder, the user can close it. */
function Group({ group, current, row }: GroupProps) {
  const { kind, name, month, families } = group;
  const rows = (
    <ul>
      {families.map((family) => (
        <li key={family.task.id}>
          {row(family.task)}
          {family.branches.length > 0 && <Branches {...{ family, current, row }} />}
        </li>
      ))}
    </ul>
  );
  if (kind === 'folder')
    return (
      <section className="task-group">
        <details open>
          <summary>
            <FolderIcon /> <h3>{name}</h3>
          </summary>
          {rows}
        </details>
      </section>
    );
  return (
    <section className="task-group">
      <h3>
        {kind === 'pinned' && <PinIcon />}
        {name ?? <TimeText at={month ?? 0} format={monthOf} />}
      </h3>
      {rows}
    </section>
  );
}

interface BranchesProps {
  readonly family: TaskFamily;
  readonly current: string | undefined;
  readonly row: (task: ListedTask) => ReactNode;
}

/**
 * The branches of a session. They are unfolded if one of them is the current session, is in
 * progress, or waits for an approval.
 */
function Branches({ family, current, row }: BranchesProps) {
  const { branches } = family;
  const isOpen = branches.some(
    ({ id, is_at_work, awaits_approval }) => id === current || is_at_work || awaits_approval,
  );
  return (
    <details className="task-branches" open={isOpen}>
      <summary>{pageLabels().branchCount(branches.length)}</summary>
      <ul>
        {branches.map((task) => (
          <li key={task.id}>{row(task)}</li>
        ))}
      </ul>
      {branches.length > 1 && (
        <Link className="task-compare" to={sideBySide(family)}>
          {pageLabels().branchesSideBySide}
        </Link>
      )}
    </details>
  );
}

/** Returns the page that shows the branches of a session. The original is not one of them. */
function sideBySide({ task, branches }: TaskFamily): Route {
  const all = [task, ...branches];
  const isBranch = ({ task_metadata }: ListedTask) => task_metadata?.['branch'] !== undefined;
  const { id } = all.find((one) => !isBranch(one)) ?? task;
  return { page: 'branches', id, shown: all.filter(isBranch).map((one) => one.id) };
}

/**
 * Moves the focus to the previous or next session of the list. Returns false for keys that do not
 * move it.
 */
function moveFocus({ key, target }: KeyboardEvent, list: HTMLElement | null): boolean {
  if (!['ArrowDown', 'ArrowUp', 'Home', 'End'].includes(key)) return false;
  const isSearch = (target as HTMLElement).matches('.task-list-search');
  if (!isSearch && !(target as HTMLElement).matches('.task-link')) return false;
  // The other keys move the cursor in the field.
  if (isSearch && key !== 'ArrowDown') return false;
  const links = [...(list?.querySelectorAll<HTMLElement>('.task-link') ?? [])];
  // Links in a closed folder are hidden, so the focus skips them.
  const visible = links.filter((link) => link.closest('details:not([open])') === null);
  const at = visible.indexOf(target as HTMLElement);
  const last = visible.length - 1;
  const next = {
    ArrowDown: Math.min(last, at + 1),
    ArrowUp: Math.max(0, at - 1),
    Home: 0,
    End: last,
  };
  visible[next[key as keyof typeof next]]?.focus();
  return true;
}

function linkOf(list: HTMLElement | null, id: string): HTMLElement | undefined {
  const links = list?.querySelectorAll<HTMLElement>('.task-link') ?? [];
  return [...links].find((link) => link.dataset['task'] === id);
}

function foldersOf(tasks: readonly ListedTask[]): readonly string[] {
  return [...new Set(tasks.flatMap((task) => folderOf(task) ?? []))].toSorted();
}

/** Maximum length of a search text that the server accepts. */
const maxLength = 256;

/**
 * Merges two lists without duplicates. If both lists contain a task, the task from `list` is used,
 * because it is newer.
 */
function mergeTasks(
  list: readonly ListedTask[],
  found: readonly ListedTask[],
): readonly ListedTask[] {
  const known = new Set(list.map(({ id }) => id));
  return [...list, ...found.filter(({ id }) => !known.has(id))];
}

/** Returns the text of a task that the search compares with the query, in lower case. */
function searchableText(task: ListedTask): string {
  const names = task.agents?.map(({ name }) => name) ?? [];
  return [taskTitle(task), task.name, ...names, task.id].join(' ').toLowerCase();
}

function searchStatusText(state: TaskSearchResult['state'], isFound: boolean): string {
  switch (state) {
    case 'asking':
      return pageLabels().searchingOlder;
    case 'failed':
      return pageLabels().olderNotSearched;
    case 'none':
    case 'found':
      return isFound ? '' : pageLabels().noSessionMatches;
  }
}
