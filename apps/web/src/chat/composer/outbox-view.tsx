import type { ItemId } from '@millrace/core';
import type { LiveSource } from '@millrace/react';
import {
  Attachments,
  type ChatSource,
  drafts,
  useConnection,
  useSourceValue,
} from '@millrace/react';
import { Button } from '@millrace/react/controls';
import { useEffect, useRef, useSyncExternalStore } from 'react';
import { useApp } from '../../app/app-context.ts';
import { pageLabels } from '../../languages/page-labels.ts';
import type { OutgoingMessage } from './outbox.ts';
import './outbox-view.css';

/** Returns the messages of a task that are not in the server's log yet. */
export function useOutgoingMessages(task: string): readonly OutgoingMessage[] {
  const { outbox } = useApp();
  return useSyncExternalStore(outbox.subscribe, () => outbox.of(task));
}

const selectItemIds = ({ itemIds }: ChatSource) => itemIds;

/**
 * Returns the messages that the conversation does not show yet. The stream can deliver a message
 * before the request that sent it is answered. So a message counts as shown if a newer item has the
 * same text.
 */
function useUnseenMessages(live: LiveSource): readonly OutgoingMessage[] {
  const outgoing = useOutgoingMessages(live.id);
  const ids = useSourceValue(live, selectItemIds);
  // The last item when the message was sent. Its position changes when earlier items are loaded.
  const starts = useRef<ReadonlyMap<string, ItemId | null>>(new Map());
  const last = ids.at(-1) ?? null;
  const startOf = (key: string) => {
    const known = starts.current.get(key);
    return known === undefined ? last : known;
  };
  starts.current = new Map(outgoing.map(({ key }) => [key, startOf(key)]));
  return outgoing.filter(({ key, text, state }) => {
    const start = startOf(key);
    const newer = ids.slice(start === null ? 0 : ids.indexOf(start) + 1);
    return state === 'failed' || !newer.some((id) => isMessage(live, id, text));
  });
}

function isMessage(live: LiveSource, id: ItemId, text: string): boolean {
  const item = live.item(id);
  if (item?.kind !== 'user') return false;
  return item.partIds.some((partId) => {
    const part = live.part(partId);
    return part?.kind === 'text' && part.text === text;
  });
}

/** Shows unsent messages at the end of the conversation until the log contains them. */
export function OutboxView({ live }: { readonly live: LiveSource }) {
  const t = pageLabels();
  const { outbox } = useApp();
  const messages = useUnseenMessages(live);
  const isLive = useConnection(live).state === 'live';
  useEffect(() => {
    if (isLive) outbox.retryUnanswered(live.id);
  }, [isLive, outbox, live]);
  if (messages.length === 0) return null;
  return (
    <ul className="outbox" aria-label={t.notSentYet}>
      {messages.map((message) => (
        <li key={message.key} data-state={message.state}>
          {message.text !== '' && (
            <p className="outbox-bubble" dir="auto">
              {message.text}
            </p>
          )}
          <Attachments files={message.attachments ?? []} />
          {message.state === 'failed' ? (
            <Failed message={message} />
          ) : (
            <span className="outbox-words">{message.state === 'sending' && t.sending}</span>
          )}
        </li>
      ))}
    </ul>
  );
}

function Failed({ message }: { readonly message: OutgoingMessage }) {
  const t = pageLabels();
  const { outbox } = useApp();
  // The buttons disappear together with the message. So the focus moves to the message field.
  const answered = (work: () => void) => () => {
    work();
    document.querySelector<HTMLElement>('.composer textarea')?.focus();
  };
  const edit = () => {
    drafts.add(message.task, message.text);
    outbox.remove(message);
  };
  return (
    <div className="outbox-failed">
      <span role="alert">{t.notSent(message.error ?? '')}</span>
      <Button size="small" onClick={answered(() => outbox.retry(message))}>
        {t.tryAgain}
      </Button>
      {/* The message field cannot show files that are already uploaded. */}
      {message.attachments === undefined && (
        <Button size="small" look="quiet" onClick={answered(edit)}>
          {t.edit}
        </Button>
      )}
      <Button size="small" look="quiet" onClick={answered(() => outbox.remove(message))}>
        {t.discard}
      </Button>
    </div>
  );
}
