import type { Attachment, Task } from '@millrace/client';
import type { ItemId, JsonObject, Metadata } from '@millrace/core';
import { type ReactNode, useMemo, useRef, useState } from 'react';
import { type App, useApp, useDirectory, useListedTask } from '../../app/app-context.ts';
import { navigate } from '../../app/route.tsx';
import { setTaskTitle } from '../../app/task-text.ts';
import { errorText } from '../../server/api.ts';
import type { ListedTask } from '../../server/directory.ts';
import type { LiveSource } from '../state/live-source.ts';
import { type ItemActions, ItemActionsContext } from './branch-switch.tsx';
import { branchesAfter } from './branch-tree.ts';
import './branches.css';

export interface BranchesProps {
  readonly live: LiveSource;
  readonly isPast: boolean;
  readonly children: ReactNode;
}

/** Provides the actions that branch the conversation at an item. Each branch is a separate task. */
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
          (reason: unknown) => setError(errorText(reason)),
        )
        .finally(() => {
          isForking.current = false;
        });
    };
    return {
      branches: (id) => branchesAfter(tasks, live.id, itemBefore(live, id)),
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

/** Returns the tasks of the list, and older tasks that the user has opened. */
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
  // The first message of a session is its title.
  const isFirst = (task_metadata?.['branch'] as Metadata | undefined)?.['after'] === null;
  if (isFirst && body.content !== undefined) await setTaskTitle(api, id, body.content.content);
  await directory.refresh();
  navigate({ page: 'task', id });
}

function itemBefore({ itemIds }: LiveSource, id: ItemId): string | null {
  return itemIds[itemIds.indexOf(id) - 1] ?? null;
}

/**
 * Returns the first item of an answer, because an answer of several turns is generated again as a
 * whole.
 */
function answerStart(live: LiveSource, id: ItemId): ItemId {
  const { itemIds } = live;
  const at = itemIds.indexOf(id);
  const lastUserIndex = itemIds
    .slice(0, at)
    .findLastIndex((one) => live.item(one)?.kind === 'user');
  return itemIds.slice(lastUserIndex + 1).find((one) => live.item(one)?.kind === 'assistant') ?? id;
}
