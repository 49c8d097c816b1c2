import { pageLabels } from '../languages/page-labels.ts';
import type { ListedTask } from '../server/directory.ts';

/**
 * A session with all of its branches, including branches of branches. The newest branch is first.
 */
export interface TaskFamily {
  readonly task: ListedTask;
  readonly branches: readonly ListedTask[];
}

/** A part of the session list with a heading. */
export interface TaskGroup {
  /** The React key of the group. */
  readonly key: string;
  readonly kind: 'pinned' | 'folder' | 'date';
  /** The heading. Undefined for a month, because the view formats the month. */
  readonly name: string | undefined;
  /** A time within the month, in ms since 1970. Only groups of months have it. */
  readonly month?: number;
  readonly families: readonly TaskFamily[];
}

/** Returns the folder of a session. Undefined if it is in no folder. */
export function folderOf({ task_metadata }: Pick<ListedTask, 'task_metadata'>): string | undefined {
  const folder = task_metadata?.['folder'];
  return typeof folder === 'string' && folder !== '' ? folder : undefined;
}

export function isPinned({ task_metadata }: Pick<ListedTask, 'task_metadata'>): boolean {
  return task_metadata?.['pinned'] === true;
}

/**
 * Groups the sessions of the list. The pinned sessions come first, then one group for each folder,
 * then groups by the date of the last change. Branches are below the session from which they come.
 * If that session is not in the list, the branch has its own entry.
 */
export function groupTasks(tasks: readonly ListedTask[], now: number): readonly TaskGroup[] {
  const families = familiesOf(tasks);
  const grouped = Map.groupBy(families, (family) => groupKeyOf(family, now));
  const groups = [...grouped].map(([key, members]) => toGroup(key, members));
  const rank = { pinned: 0, folder: 1, date: 2 } as const;
  // The families are sorted by time, so the groups by date are already in order.
  return groups.toSorted(
    (a, b) =>
      rank[a.kind] - rank[b.kind] ||
      (a.kind === 'folder' ? (a.name ?? '').localeCompare(b.name ?? '') : 0),
  );
}

function familiesOf(tasks: readonly ListedTask[]): readonly TaskFamily[] {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const branches = Map.groupBy(tasks, (task) => rootOf(task, byId));
  const families = [...branches].map(([id, members]) => {
    // `members` also contains the root task. If the user chose a main branch, the list shows it as the
    // session, and the root task is below it.
    const root = byId.get(id) ?? (members[0] as ListedTask);
    const main = root.task_metadata?.['main_branch'];
    const task = members.find((member) => member.id === main) ?? root;
    return { task, branches: members.filter((member) => member !== task) };
  });
  return families.toSorted((a, b) => changedAt(b) - changedAt(a));
}

/** Returns the id of the oldest ancestor in the list. */
function rootOf(task: ListedTask, byId: ReadonlyMap<string, ListedTask>): string {
  const seen = new Set<string>();
  let at = task;
  // The metadata from the server can contain a cycle. `seen` ends the loop.
  while (!seen.has(at.id)) {
    seen.add(at.id);
    const { of } = (at.task_metadata?.['branch'] ?? {}) as { readonly of?: unknown };
    const parent = typeof of === 'string' ? byId.get(of) : undefined;
    if (parent === undefined) return at.id;
    at = parent;
  }
  return [...seen].toSorted()[0] ?? task.id;
}

/** Returns the time of the last change in a family, in ms since 1970. Returns 0 if it is unknown. */
function changedAt({ task, branches }: TaskFamily): number {
  const times = [task, ...branches].map(({ updated_at }) => Date.parse(updated_at ?? '') || 0);
  return Math.max(...times);
}

function groupKeyOf(family: TaskFamily, now: number): string {
  if (isPinned(family.task)) return 'pinned';
  const folder = folderOf(family.task);
  if (folder !== undefined) return `folder ${folder}`;
  const at = changedAt(family);
  if (at === 0) return 'date earlier';
  const days = dayOf(now) - dayOf(at);
  if (days <= 0) return 'date today';
  if (days === 1) return 'date yesterday';
  if (days <= 7) return 'date previous7Days';
  const date = new Date(at);
  return `month ${new Date(date.getFullYear(), date.getMonth(), 15).getTime()}`;
}

/** Returns the number of a day in local time. Consecutive days have consecutive numbers. */
function dayOf(at: number): number {
  const date = new Date(at);
  return Math.round(
    Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) / (24 * 3600 * 1000),
  );
}

type DateName = 'earlier' | 'today' | 'yesterday' | 'previous7Days';

function toGroup(key: string, families: readonly TaskFamily[]): TaskGroup {
  if (key === 'pinned') return { key, kind: 'pinned', name: pageLabels().pinned, families };
  const [kind = ''] = key.split(' ', 1);
  const rest = key.slice(kind.length + 1);
  if (kind === 'folder') return { key, kind, name: rest, families };
  if (kind === 'date') return { key, kind, name: pageLabels()[rest as DateName], families };
  return { key, kind: 'date', name: undefined, month: Number(rest), families };
}
