import { IconButton } from '../../design/button.tsx';
import { ClockIcon, CrossIcon } from '../../design/icons.tsx';
import type { Labels } from '../../labels/labels.ts';
import { useLabels } from '../../labels/use-labels.ts';
import { type ChatSource, useSourceValue } from '../state/chat-source.ts';
import type { QueuedMessage } from '../state/fact-index.ts';
import './queue-view.css';

const selectQueued = ({ facts }: ChatSource) => facts.queued;
/** Returns the reason why the queued messages are not delivered yet. */
function waitsFor({ state: { run, asked, awaited } }: ChatSource): WaitsFor {
  if (asked.length > 0) return 'answer';
  if (awaited.length > 0) return 'client';
  return run === undefined ? 'message' : 'run';
}

type WaitsFor = 'answer' | 'client' | 'message' | 'run';

/** The properties of `QueueView`. */
export interface QueueViewProps {
  readonly source: ChatSource;
  /** Called with the key of a message that the user withdraws. Default: messages cannot be withdrawn. */
  readonly onWithdraw?: ((key: string) => void) | undefined;
}

/** Shows the queued messages that the agent has not read yet. */
export function QueueView({ source, onWithdraw }: QueueViewProps) {
  const t = useLabels();
  const queued = useSourceValue(source, selectQueued);
  const reason = useSourceValue(source, waitsFor);
  if (queued.length === 0) return null;
  return (
    <ul className="queue" aria-label={t.queuedMessages}>
      {queued.map((message) => (
        <li key={message.key}>
          <ClockIcon />
          <span className="queue-text" dir="auto">
            {message.text}
          </span>
          <span className="queue-when">{deliveryText(message, reason, t)}</span>
          {onWithdraw && (
            <IconButton
              size="small"
              label={t.withdrawThisMessage}
              onClick={() => onWithdraw(message.key)}
            >
              <CrossIcon />
            </IconButton>
          )}
        </li>
      ))}
    </ul>
  );
}

/**
 * Returns a text about when the agent reads a queued message. If the run was stopped before it read the
 * message (`isLeft`), the agent reads it together with the next message.
 */
function deliveryText({ when, isLeft }: QueuedMessage, reason: WaitsFor, t: Labels): string {
  switch (reason) {
    case 'answer':
      return t.sentAfterAnswer;
    case 'client':
      return t.sentAfterCall;
    case 'message':
      return isLeft ? t.sentWithNext : t.queued;
    case 'run':
      return when === 'steer' ? t.steersNext : t.queued;
  }
}
