import { useState } from 'react';
import { useApp, useListedTask } from '../../app/app-context.ts';
import { Button } from '../../design/button.tsx';
import { RetryIcon } from '../../design/icons.tsx';
import { errorText } from '../../server/api.ts';
import { useOutgoingMessages } from '../composer/outbox-view.tsx';
import { type ChatSource, isUnfinished, useSourceValue } from '../state/chat-source.ts';
import type { LiveSource } from '../state/live-source.ts';
import { useHasEnded } from '../state/use-live.ts';

/**
 * A button after a run that failed or was stopped. An agent loop continues the conversation as it
 * is. Another agent gets the last message again.
 */
export function RetryRow({ live }: { readonly live: LiveSource }) {
  const { outbox } = useApp();
  const [isSent, setSent] = useState(false);
  const [error, setError] = useState<string>();
  const label = useSourceValue(live, retryLabel);
  const hasEnded = useHasEnded(live);
  const agent = useListedTask(live.id)?.agents?.[0];
  const isSending = useOutgoingMessages(live.id).length > 0;
  if (label === undefined || hasEnded || isSending || agent === undefined) return null;
  const isLoop = agent.registration_metadata?.['kind'] === 'loop';
  const text = lastMessage(live);
  if (!isLoop && (text === '' || label === 'Continue')) return null;
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
        <RetryIcon /> {label}
      </Button>
      {error !== undefined && <span role="alert">{error}</span>}
    </div>
  );
}

/** Returns the text of the button. Returns undefined if there is nothing to retry. */
function retryLabel(source: ChatSource): 'Retry' | 'Continue' | undefined {
  if (isUnfinished(source)) return undefined;
  switch (source.facts.lastStop?.reason) {
    case 'error':
      return 'Retry';
    case 'aborted':
      return 'Continue';
    default:
      return undefined;
  }
}

/** Returns the text of the last message of the user. */
function lastMessage(live: LiveSource): string {
  const id = live.itemIds.findLast((one) => live.item(one)?.kind === 'user');
  const parts = (id && live.item(id)?.parts) ?? [];
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join('\n\n');
}
