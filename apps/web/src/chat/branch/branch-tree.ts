import type { JsonValue } from '@millrace/core';

/** The fields of a task that describe its branches. */
export interface BranchTask {
  readonly id: string;
  readonly created_at: string | null;
  readonly task_metadata: { readonly [key: string]: JsonValue } | null;
}

interface Fork {
  /** The id of the task that this task was forked from. */
  readonly of: string;
  /** The last item that this task shares with the task `of`. Null if they share no items. */
  readonly after: string | null;
}

interface BranchPosition {
  readonly ids: readonly string[];
  readonly at: number;
}

/**
 * Returns all branches of a conversation that start after an item. Also returns the position of the
 * branch that contains the current task. Returns undefined if there is only one branch.
 */
export function branchesAfter(
  tasks: readonly BranchTask[],
  current: string,
  after: string | null,
): BranchPosition | undefined {
  const forks = new Map(tasks.map((task) => [task.id, forkOf(task)]));
  const root = rootOf(forks, current);
  const isSibling = ({ id }: BranchTask) =>
    forks.get(id)?.after === after && rootOf(forks, id) === root;
  const siblings = tasks.filter(isSibling);
  if (siblings.length === 0) return undefined;
  const origins = siblings.map(({ id }) => forks.get(id)?.of ?? '');
  const members = new Set([...siblings.map(({ id }) => id), ...origins]);
  const ids = tasks
    .filter(({ id }) => members.has(id))
    .toSorted((a, b) => (a.created_at ?? '').localeCompare(b.created_at ?? ''))
    .map(({ id }) => id);
  const at = ancestorsOf(forks, current)
    .map((id) => ids.indexOf(id))
    .find((index) => index >= 0);
  return at === undefined || ids.length < 2 ? undefined : { ids, at };
}

/** Returns the id of the oldest known task that a task continues, or its own id. */
export function rootOfBranch(tasks: readonly BranchTask[], id: string): string {
  return rootOf(new Map(tasks.map((task) => [task.id, forkOf(task)])), id) ?? id;
}

function forkOf({ task_metadata }: BranchTask): Fork | undefined {
  const { of, after } = {
    of: undefined,
    after: undefined,
    ...(task_metadata?.['branch'] as object),
  };
  const isFork = typeof of === 'string' && (typeof after === 'string' || after === null);
  return isFork ? { of, after } : undefined;
}

type Forks = ReadonlyMap<string, Fork | undefined>;

/** Returns the ids of the task, its parent, the parent of that parent, and so on. */
function ancestorsOf(forks: Forks, id: string): readonly string[] {
  const path: string[] = [];
  // The metadata from the server can contain a cycle. The check of `path` prevents an endless loop.
  for (let at: string | undefined = id; at !== undefined && !path.includes(at); ) {
    path.push(at);
    at = forks.get(at)?.of;
  }
  return path;
}

function rootOf(forks: Forks, id: string): string | undefined {
  return ancestorsOf(forks, id).at(-1);
}
