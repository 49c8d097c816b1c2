import type { Connection, TaskStatus } from '@millrace/client';
import type { LiveSource } from '@millrace/react';
import {
  ActivityLine,
  Approvals,
  type ChatSource,
  Composer,
  isClosed,
  isUnfinished,
  QueueView,
  useConnection,
  useHasEnded,
  useIsOffline,
  useSourceValue,
  useTaskRow,
} from '@millrace/react';
import { Button, useKey } from '@millrace/react/controls';
import { useCallback } from 'react';
import { useApp, useListedTask } from '../app/app-context.ts';
import { Link } from '../app/route.tsx';
import { pageLabels } from '../languages/page-labels.ts';
import type { ListedTask } from '../server/directory.ts';
import { useModelChoice } from './composer/model-choice.tsx';
import { outboxFullText } from './composer/outbox.ts';
import { useSessionSuggestions } from './composer/session-suggestions.ts';

export interface ChatFootProps {
  readonly live: LiveSource;
  readonly source: ChatSource;
  readonly isPast: boolean;
  /** True if the user has no right to write. Default: false. */
  readonly isReadOnly?: boolean | undefined;
  readonly onBackToNow: () => void;
  /** Called after the user sent a message. */
  readonly onSent: () => void;
}

/**
 * The bottom of the chat: approval requests, queued messages, activity and the message field.
 * Requests and queued messages have their own row. When they appear, the conversation gets smaller,
 * and the message field keeps its place.
 */
export function ChatFoot(props: ChatFootProps) {
  const t = pageLabels();
  const { live, source, isPast, isReadOnly = false, onBackToNow, onSent } = props;
  const hasEnded = useHasEnded(live) && !isPast;
  const isOffline = useIsOffline(live) && !isPast;
  return (
    <>
      <div className="chat-dock">
        <div className="chat-foot-main">
          <Approvals
            source={source}
            handle={isPast || isReadOnly ? undefined : live.handle}
            closedText={isPast ? undefined : t.readOnly}
          />
          <QueueView
            source={source}
            // If the agent has read the message meanwhile, the request has no effect.
            onWithdraw={
              isPast || isReadOnly
                ? undefined
                : (key) => void live.handle.withdraw(key).catch(() => {})
            }
          />
        </div>
      </div>
      <div className="chat-foot">
        <div className="chat-foot-main">
          <ActivityLine {...{ source, isPast, hasEnded, isOffline }} />
          {isPast ? (
            <div className="past">
              <span>{t.earlierMoment}</span>
              <Button onClick={onBackToNow}>{t.backToNow}</Button>
            </div>
          ) : isReadOnly ? (
            <p className="past">{t.readOnly}</p>
          ) : (
            <LiveComposer live={live} onSent={onSent} />
          )}
        </div>
      </div>
    </>
  );
}

/** Returns why the session accepts no messages. Returns undefined if it accepts them. */
function closedText(connection: Connection, status: TaskStatus | null | undefined) {
  const isMissing = connection.state === 'failed' && connection.error.code === 'not_found';
  if (isMissing) return pageLabels().sessionMissing;
  if (status === 'DELETED') return pageLabels().sessionDeleted;
  return isClosed(status) ? pageLabels().sessionClosed : undefined;
}

/**
 * Returns the reason why no message can be sent in a session without an agent. Returns undefined if
 * the session has an agent.
 */
function readOnlyText(agents: ListedTask['agents'] | undefined): string | undefined {
  if (agents == null || agents.length > 0) return undefined;
  return pageLabels().sessionWithoutAgent;
}

function ClosedNotice({ text }: { readonly text: string }) {
  const t = pageLabels();
  return (
    <p className="past">
      <span>{text}</span>
      <Link to={{ page: 'new' }}>{t.startAnotherSession}</Link>
    </p>
  );
}

function LiveComposer({ live, onSent }: Pick<ChatFootProps, 'live' | 'onSent'>) {
  const t = pageLabels();
  const { outbox } = useApp();
  const hasEnded = useHasEnded(live);
  // An open approval request also counts as running, so that the user can stop the run instead of
  // answering.
  const isRunning = useSourceValue(live, isUnfinished) && !hasEnded;
  const row = useTaskRow(live);
  const agents = useListedTask(live.id)?.agents;
  const agent = agents?.[0];
  const reason = closedText(useConnection(live), row?.status) ?? readOnlyText(agents);
  // Until the session list is loaded, the page assumes that the agent can be steered. Most agents
  // can, so the buttons usually do not change.
  const canSteer = agents == null || agent?.registration_metadata?.['kind'] === 'loop';
  const suggestions = useSessionSuggestions(live, { isRunning, stop: () => live.handle.stop() });
  const [model, modelChoice] = useModelChoice(agent, live.id);
  const stop = useCallback(async () => {
    await live.handle.stop();
  }, [live]);
  useKey('escape', () => isRunning && void stop().catch(() => {}));
  if (reason !== undefined) return <ClosedNotice text={reason} />;
  return (
    <Composer
      draftKey={live.id}
      focusKey={live.id}
      placeholder={agent === undefined ? t.writeAMessage : t.messageTo(agent.name)}
      isRunning={isRunning}
      canSteer={canSteer}
      onStop={stop}
      {...suggestions}
      onSend={async ({ text, when, upload }) => {
        const attachments = await upload(live.handle);
        if (!outbox.add(live.id, text, when, attachments, model)) throw new Error(outboxFullText());
        onSent();
      }}
    >
      {modelChoice}
    </Composer>
  );
}
