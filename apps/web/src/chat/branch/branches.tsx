import type { Task } from '@millrace/client';
import type { ItemId, Metadata } from '@millrace/core';
import {
  type FormEvent,
  type KeyboardEvent,
  type ReactNode,
  useMemo,
  useRef,
  useState,
} from 'react';
import { type App, useApp, useDirectory, useListedTask } from '../../app/app-context.ts';
import { navigate } from '../../app/route.tsx';
import { setTaskTitle } from '../../app/task-text.ts';
import { Button } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
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

interface Editing {
  readonly id: ItemId;
  readonly text: string;
}

/** Provides the actions that branch the conversation at an item. Each branch is a separate task. */
export function Branches({ live, isPast, children }: BranchesProps) {
  const app = useApp();
  const tasks = useKnownTasks();
  const [editing, setEditing] = useState<Editing>();
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
          edit: (id, text) => setEditing({ id, text }),
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
  readonly content?: { readonly type: 'text'; readonly author: 'user'; readonly content: string };
};

async function fork({ api, directory }: App, taskId: string, body: ForkBody): Promise<void> {
  const response = await api.post(`/tasks/${encodeURIComponent(taskId)}/fork`, body);
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

interface EditDialogProps {
  readonly text: string;
  readonly onClose: () => void;
  readonly onSend: (text: string) => Promise<void>;
}

/** A dialog to replace an earlier message. */
function EditDialog({ text: before, onClose, onSend }: EditDialogProps) {
  const [text, setText] = useState(before);
  const [error, setError] = useState<string>();
  const [isSending, setSending] = useState(false);
  const isBlocked = isSending || text.trim() === '';
  const submit = (event: FormEvent | KeyboardEvent) => {
    event.preventDefault();
    if (isBlocked) return;
    setSending(true);
    onSend(text.trim()).catch((reason: unknown) => {
      setSending(false);
      setError(errorText(reason));
    });
  };
  return (
    <Dialog title="Edit message" onClose={onClose}>
      <form className="edit-form" onSubmit={submit}>
        <p>
          The conversation continues in a new branch. This session does not change. Enter sends,
          Shift+Enter adds a line.
        </p>
        <textarea
          aria-label="Message"
          dir="auto"
          rows={5}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing)
              submit(event);
          }}
        />
        {error !== undefined && (
          <p className="composer-error" role="alert">
            {error}
          </p>
        )}
        <div className="edit-bar">
          <Button look="main" type="submit" disabled={isBlocked}>
            Send in a branch
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
