import type { Client, TaskStatus, TaskSummary } from '@millrace/client';
import type { Api } from '../app/api.ts';
import type { ListedTask } from '../app/directory.ts';

/** What a server is asked for an overview. */
export interface TaskLists {
  /** Those that changed last, whatever became of them. */
  readonly latest: readonly TaskSummary[];
  readonly isMore: boolean;
  /** Those in which something goes on or waits. */
  readonly working: readonly TaskSummary[];
  readonly failed: readonly TaskSummary[];
  /** There may be more of those. */
  readonly isCut: boolean;
}

/** Not all, because each costs the server a look into its log. */
const maxTasks = 50;
/** What the server tells at once of which of them are at work. */
const maxSeen = 1000;

export interface ListSources {
  readonly client: Pick<Client, 'tasks'>;
  readonly api: Pick<Api, 'get'>;
}

/** By what became of them, too: what runs or failed may have changed long ago. */
export async function readLists(
  { client, api }: ListSources,
  signal: AbortSignal,
): Promise<TaskLists> {
  const list = (status?: TaskStatus) => client.tasks({ status, limit: maxTasks }, { signal });
  const path = `/tasks?status=RUNNING&limit=${maxSeen}&relationships=work`;
  const [latest, failed, timedOut, seen] = await Promise.all([
    ...[list(), list('FAILED'), list('TIMED_OUT')],
    api.get(path, signal) as Promise<unknown> as Promise<readonly ListedTask[]>,
  ] as const);
  // Those that wait for somebody first, so that none of them is cut off.
  const rank = ({ awaits_approval }: ListedTask) => (awaits_approval === true ? 0 : 1);
  const working = seen
    .filter((task) => task.is_at_work === true)
    .toSorted((a, b) => rank(a) - rank(b));
  const isFull = seen.length >= maxSeen || working.length > maxTasks;
  return {
    latest: latest.data,
    isMore: latest.next !== undefined,
    working: working.slice(0, maxTasks),
    failed: [...failed.data, ...timedOut.data],
    isCut: isFull || failed.next !== undefined || timedOut.next !== undefined,
  };
}

/** What is not among the latest. */
export function othersOf({ latest, working, failed }: TaskLists): readonly TaskSummary[] {
  const known = new Set(latest.map(({ id }) => id));
  const others = new Map([...working, ...failed].map((task) => [task.id, task]));
  return [...others.values()].filter(({ id }) => !known.has(id));
}
