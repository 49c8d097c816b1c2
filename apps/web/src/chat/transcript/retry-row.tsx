import { useState } from 'react';
import { useApp, useListedTask } from '../../app/app-context.ts';
import { isClosed } from '../../app/task-text.ts';
import { Button } from '../../design/button.tsx';
import { RetryIcon } from '../../design/icons.tsx';
import { errorText } from '../../server/api.ts';
import { useOutgoingMessages } from '../composer/outbox-view.tsx';
import { type ChatSource, isUnfinished, useSourceValue } from '../state/chat-source.ts';
import type { LiveSource } from '../state/live-source.ts';
import { useTaskRow } from '../state/use-live.ts';

/**
 * A button after a run that failed. An agent loop sends its last request again. Another agent gets
 * the last message again.
 */
export function RetryRow({ live }: { readonly live: LiveSource }) {
  const { outbox } = useApp();
  const [isSent, setSent] = useState(false);
  const [error, setError] = useState<string>();
  const canRetry = useSourceValue(live, isFailed);
  const { status } = useTaskRow(live) ?? {};
  const agent = useListedTask(live.id)?.agents?.[0];
  const isSending = useOutgoingMessages(live.id).length > 0;
  if (!canRetry || isClosed(status) || isSending || agent === undefined) return null;
  const isLoop = agent.registration_metadata?.['kind'] === 'loop';
  const text = lastMessage(live);
  if (!isLoop && text === '') return null;
  const retry = () => {
    setError(undefined);
    if (!isLoop) return void outbox.add(live.id, text, 'follow_up');
    setSent(true);
    live.handle
      .retry()
      .catch((reason: unknown) => setError(errorText(reason)))
      .finally(() => setSent(false));
  };
  return (
    <div className="retry-row">
      <Button size="small" disabled={isSent} onClick={retry}>
        <RetryIcon /> Retry
      </Button>
      {error !== undefined && <span role="alert">{error}</span>}
    </div>
  );
}

function isFailed(source: ChatSource): boolean {
  return source.facts.lastStop?.reason === 'error' && !isUnfinished(source);
}

/** Returns the text of the last message of the user. */
function lastMessage(live: LiveSource): string {
  const id = live.itemIds.findLast((one) => live.item(one)?.kind === 'user');
  const parts = (id && live.item(id)?.parts) ?? [];
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join('\n\n');
}
