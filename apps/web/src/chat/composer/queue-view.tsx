import { useApp } from '../../app/app-context.ts';
import { IconButton } from '../../design/button.tsx';
import { ClockIcon, CrossIcon } from '../../design/icons.tsx';
import { type ChatSource, useSourceValue } from '../state/chat-source.ts';
import './queue-view.css';

const selectQueued = ({ facts }: ChatSource) => facts.queued;
/** Returns what the queued messages wait for. */
function waitsFor({ state: { run, asked, awaited } }: ChatSource): WaitsFor {
  if (asked.length > 0) return 'answer';
  if (awaited.length > 0) return 'client';
  return run === undefined ? 'message' : 'run';
}

type WaitsFor = 'answer' | 'client' | 'message' | 'run';

export interface QueueViewProps {
  readonly source: ChatSource;
  readonly canWithdraw: boolean;
}

/** Shows the queued messages that the agent has not read yet. */
export function QueueView({ source, canWithdraw }: QueueViewProps) {
  const { api } = useApp();
  const queued = useSourceValue(source, selectQueued);
  const reason = useSourceValue(source, waitsFor);
  const path = `/tasks/${encodeURIComponent(source.id)}/commands`;
  if (queued.length === 0) return null;
  return (
    <ul className="queue" aria-label="Queued messages">
      {queued.map(({ key, when, text }) => (
        <li key={key}>
          <ClockIcon />
          <span className="queue-when">{deliveryText(when, reason)}</span>
          <span className="queue-text" dir="auto">
            {text}
          </span>
          {canWithdraw && (
            <IconButton
              size="small"
              label="Withdraw this message"
              onClick={() => {
                // If the agent has read the message meanwhile, the request has no effect.
                void api.post(path, { type: 'withdraw', key }).catch(() => {});
              }}
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
 * Returns when a queued message is delivered. A stopped agent reads queued messages only together
 * with the next message.
 */
function deliveryText(when: 'steer' | 'follow_up', reason: WaitsFor): string {
  switch (reason) {
    case 'answer':
      return 'sent after your answer';
    case 'client':
      return 'sent after the open tool call';
    case 'message':
      return 'stopped: sent with your next message';
    case 'run':
      return when === 'steer' ? 'steers next' : 'queued';
  }
}
