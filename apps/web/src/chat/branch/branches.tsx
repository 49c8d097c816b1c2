import type { Attachment, Task } from '@millrace/client';
import type { ItemId, JsonObject, Metadata } from '@millrace/core';
import type { LiveSource } from '@millrace/react';
import { errorText, type ItemActions, ItemActionsContext } from '@millrace/react';
import { type ReactNode, useMemo, useRef, useState } from 'react';
import { type App, useApp, useDirectory, useListedTask } from '../../app/app-context.ts';
import { navigate } from '../../app/route.tsx';
import { setTaskTitle } from '../../app/task-text.ts';
import { pageLabels } from '../../languages/page-labels.ts';
import type { ListedTask } from '../../server/directory.ts';
import { branchesAfter } from './branch-tree.ts';
import './branches.css';

export interface BranchesProps {
  readonly live: LiveSource;
  readonly isPast: boolean;
  readonly children: ReactNode;
}

/**
 * Provides actions that start a branch of the conversation at an item. Each branch is a separate
 * task.
 */
export function Branches({ live, isPast, children }: BranchesProps) {
  const app = useApp();
  const tasks = useKnownTasks();
  const [error, setError] = useState<string>();
  const isForking = useRef(false);
  const agent = useListedTask(live.id)?.agents?.[0];
  const isLoop = agent?.registration_metadata?.['kind'] === 'loop';
  const actions = useMemo((): ItemActions => {
    const startFork = async (body: ForkBody) => {
      // A double click must create only one branch.
      if (isForking.current) return;
      isForking.current = true;
      await fork(app, live.id, body)
        .then(
          () => setError(undefined),
          (reason: unknown) => setError(errorText(reason, pageLabels())),
        )
        .finally(() => {
          isForking.current = false;
        });
    };
    return {
      open: (id) => navigate({ page: 'task', id }),
      // The item before the first loaded item is not known until all items are loaded.
      branches: (id) =>
        live.isWhole || id !== live.itemIds[0]
          ? branchesAfter(tasks, live.id, itemBefore(live, id))
          : undefined,
      ...(isLoop &&
        !isPast && {
          edit: (id, text, attachments) => {
            const files = attachments.length > 0 ? { attachments } : {};
            const content = { type: 'text', author: 'user', content: text, ...files } as const;
            return fork(app, live.id, { item_id: id, content });
          },
          regenerate: (id) => void startFork({ item_id: answerStart(live, id) }),
        }),
    };
  }, [app, live, tasks, isLoop, isPast]);
  return (
    <ItemActionsContext value={actions}>
      {children}
      {error !== undefined && (
        <p className="composer-error branch-error" role="alert">
          {error}
        </p>
      )}
    </ItemActionsContext>
  );
}

/** Returns the tasks of the session list, and older tasks that the user has opened. */
function useKnownTasks(): readonly ListedTask[] {
  const { tasks, others } = useDirectory();
  return useMemo(() => {
    const listed = new Set(tasks.map(({ id }) => id));
    return [...tasks, ...[...others.values()].filter(({ id }) => !listed.has(id))];
  }, [tasks, others]);
}

type ForkBody = {
  readonly item_id: string;
  readonly content?: {
    readonly type: 'text';
    readonly author: 'user';
    readonly content: string;
    readonly attachments?: readonly Attachment[];
  };
};

async function fork({ api, directory }: App, taskId: string, body: ForkBody): Promise<void> {
  const response = await api.post(
    `/tasks/${encodeURIComponent(taskId)}/fork`,
    body as unknown as JsonObject,
  );
  const { id, task_metadata } = response as unknown as Task;
  // The title of a session is its first message. If the branch replaces this message, it gets a new
  // title.
  const isFirst = (task_metadata?.['branch'] as Metadata | undefined)?.['after'] === null;
  if (isFirst && body.content !== undefined) await setTaskTitle(api, id, body.content.content);
  await directory.refresh();
  navigate({ page: 'task', id });
}

function itemBefore({ itemIds }: LiveSource, id: ItemId): string | null {
  return itemIds[itemIds.indexOf(id) - 1] ?? null;
}

/**
 * Returns the first item of an answer. An answer can have several turns, and the agent regenerates
 * all of them.
 */
function answerStart(live: LiveSource, id: ItemId): ItemId {
  const { itemIds } = live;
  const at = itemIds.indexOf(id);
  const lastUserIndex = itemIds
    .slice(0, at)
    .findLastIndex((one) => live.item(one)?.kind === 'user');
  return itemIds.slice(lastUserIndex + 1).find((one) => live.item(one)?.kind === 'assistant') ?? id;
}
