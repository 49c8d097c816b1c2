import { type ReactNode, useState } from 'react';
import { type ItemActions, ItemActionsContext } from '../chat/branch/branch-switch.tsx';
import { type ChatSource, isUnfinished, useSourceValue } from '../chat/state/chat-source.ts';
import { errorText } from '../chat/state/error-text.ts';
import { TranscriptView } from '../chat/transcript/transcript-view.tsx';
import { Button } from '../design/button.tsx';
import { RetryIcon } from '../design/icons.tsx';
import { useLabels } from '../labels/use-labels.ts';
import type { Session } from './session.ts';

/** The properties of `Thread`. */
export interface ThreadProps {
  readonly session: Session;
  /** The text for an empty conversation. Default: none. */
  readonly emptyText?: string | undefined;
  /** The number of messages that the user has sent. When it changes, the list scrolls to the end. */
  readonly sentCount?: number | undefined;
  /** Content after the last message. */
  readonly children?: ReactNode;
}

const noActions: ItemActions = { branches: () => undefined };

/**
 * The conversation of a session: messages, reasoning, tool calls and notices. Only the visible rows are
 * in the DOM. Give its parent element a height.
 */
export function Thread({ session, emptyText, sentCount, children }: ThreadProps) {
  const { source, commands, actions = noActions } = session;
  return (
    <ItemActionsContext value={actions}>
      <TranscriptView {...{ source, emptyText, sentCount }}>
        {commands?.retry && <Retry source={source} retry={commands.retry} />}
        {children}
      </TranscriptView>
    </ItemActionsContext>
  );
}

function isFailed(source: ChatSource): boolean {
  return source.facts.lastStop?.reason === 'error' && !isUnfinished(source);
}

interface RetryProps {
  readonly source: ChatSource;
  readonly retry: () => Promise<unknown>;
}

/** A button after a run that failed. */
function Retry({ source, retry }: RetryProps) {
  const t = useLabels();
  const canRetry = useSourceValue(source, isFailed);
  const [isSent, setSent] = useState(false);
  const [error, setError] = useState<string>();
  if (!canRetry) return null;
  const start = () => {
    setError(undefined);
    setSent(true);
    void retry()
      .catch((reason: unknown) => setError(errorText(reason, t)))
      .finally(() => setSent(false));
  };
  return (
    <div className="retry-row">
      <Button size="small" disabled={isSent} onClick={start}>
        <RetryIcon /> {t.retry}
      </Button>
      {error !== undefined && <span role="alert">{error}</span>}
    </div>
  );
}
