import type { Task } from '@millrace/client';
import type { ItemId, Metadata } from '@millrace/core';
import { type ReactNode, useMemo, useRef, useState } from 'react';
import { type App, useApp, useDirectory, useListedTask } from '../../app/app-context.ts';
import type { ListedTask } from '../../app/directory.ts';
import { failureWords } from '../../app/failure-words.ts';
import { navigate } from '../../app/route.ts';
import { setTitle } from '../../app/set-title.ts';
import { type ItemActions, ItemActionsContext } from '../state/item-actions.ts';
import type { LiveSource } from '../state/live-source.ts';
import { EditDialog } from './edit-dialog.tsx';
import { branchesAfter } from './family.ts';

export interface BranchesProps {
  readonly live: LiveSource;
  readonly isPast: boolean;
  readonly children: ReactNode;
}

interface Editing {
  readonly id: ItemId;
  readonly text: string;
}

/** Lets what is inside go on otherwise from any item: each way is a task of its own. */
export function Branches({ live, isPast, children }: BranchesProps) {
  const app = useApp();
  const tasks = useKnownTasks();
  const [editing, setEditing] = useState<Editing>();
  const [error, setError] = useState<string>();
  const isForking = useRef(false);
  const agent = useListedTask(live.id)?.agents?.[0];
  const isLoop = agent?.registration_metadata?.['kind'] === 'loop';
  const actions = useMemo((): ItemActions => {
    const go = async (body: ForkBody) => {
      // Whoever clicks twice wants one.
      if (isForking.current) return;
      isForking.current = true;
      await fork(app, live.id, body)
        .then(
          () => setError(undefined),
          (reason: unknown) => setError(failureWords(reason)),
        )
        .finally(() => {
          isForking.current = false;
        });
    };
    return {
      branches: (id) => branchesAfter(tasks, live.id, itemBefore(live, id)),
      ...(isLoop &&
        !isPast && {
          edit: (id, text) => setEditing({ id, text }),
          regenerate: (id) => void go({ item_id: answerStart(live, id) }),
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
      {editing && (
        <EditDialog
          text={editing.text}
          onClose={() => setEditing(undefined)}
          onSend={async (content) => {
            await fork(app, live.id, {
              item_id: editing.id,
              content: { type: 'text', author: 'user', content },
            });
            setEditing(undefined);
          }}
        />
      )}
    </ItemActionsContext>
  );
}

/** Those of the list, and older ones that were opened. */
function useKnownTasks(): readonly ListedTask[] {
  const { tasks, others } = useDirectory();
  return useMemo(() => {
    const listed = new Set(tasks.map(({ id }) => id));
    return [...tasks, ...[...others.values()].filter(({ id }) => !listed.has(id))];
  }, [tasks, others]);
}

type ForkBody = {
  readonly item_id: string;
  readonly content?: { readonly type: 'text'; readonly author: 'user'; readonly content: string };
};

async function fork({ api, directory }: App, taskId: string, body: ForkBody): Promise<void> {
  const made = await api.post(`/tasks/${encodeURIComponent(taskId)}/fork`, body);
  const { id, task_metadata } = made as unknown as Task;
  // The first thing that is said is what it is called by.
  const isFirst = (task_metadata?.['branch'] as Metadata | undefined)?.['after'] === null;
  if (isFirst && body.content !== undefined)
    await setTitle(api, { id, task_metadata }, body.content.content);
  await directory.refresh();
  navigate({ page: 'task', id });
}

function itemBefore({ itemIds }: LiveSource, id: ItemId): string | null {
  return itemIds[itemIds.indexOf(id) - 1] ?? null;
}

/** An answer of several turns is given again as a whole. */
function answerStart(live: LiveSource, id: ItemId): ItemId {
  const { itemIds } = live;
  const at = itemIds.indexOf(id);
  const said = itemIds.slice(0, at).findLastIndex((one) => live.item(one)?.kind === 'user');
  return itemIds.slice(said + 1).find((one) => live.item(one)?.kind === 'assistant') ?? id;
}
