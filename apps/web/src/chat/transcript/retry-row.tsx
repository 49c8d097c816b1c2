import type { LiveSource } from '@millrace/react';
import {
  type ChatSource,
  errorText,
  isClosed,
  isUnfinished,
  useSourceValue,
  useTaskRow,
} from '@millrace/react';
import { Button, RetryIcon } from '@millrace/react/controls';
import { useState } from 'react';
import { useApp, useListedTask } from '../../app/app-context.ts';
import { pageLabels } from '../../languages/page-labels.ts';
import { useOutgoingMessages } from '../composer/outbox-view.tsx';

/**
 * A button that appears after a failed run. An agent loop then repeats its last model request. For
 * all other agents, the page sends the last message again.
 */
export function RetryRow({ live }: { readonly live: LiveSource }) {
  const t = pageLabels();
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
      .catch((reason: unknown) => setError(errorText(reason, pageLabels())))
      .finally(() => setSent(false));
  };
  return (
    <div className="retry-row">
      <Button size="small" disabled={isSent} onClick={retry}>
        <RetryIcon /> {t.retry}
      </Button>
      {error !== undefined && <span role="alert">{error}</span>}
    </div>
  );
}

function isFailed(source: ChatSource): boolean {
  return source.facts.lastStop?.reason === 'error' && !isUnfinished(source);
}

/** Returns the text of the user's last message. */
function lastMessage(live: LiveSource): string {
  const id = live.itemIds.findLast((one) => live.item(one)?.kind === 'user');
  const parts = (id && live.item(id)?.parts) ?? [];
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join('\n\n');
}
