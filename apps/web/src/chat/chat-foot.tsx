import type { Connection, TaskStatus } from '@millrace/client';
import { useCallback } from 'react';
import { useApp, useListedTask } from '../app/app-context.ts';
import { Link } from '../app/route.tsx';
import { isClosed } from '../app/task-text.ts';
import { useKey } from '../app/use-key.ts';
import { Button } from '../design/button.tsx';
import type { ListedTask } from '../server/directory.ts';
import { ActivityLine } from './activity-line.tsx';
import { ApprovalDock } from './approval/approval-dock.tsx';
import { Composer } from './composer/composer.tsx';
import { outboxFullText } from './composer/outbox.ts';
import { QueueView } from './composer/queue-view.tsx';
import { type ChatSource, isUnfinished, useSourceValue } from './state/chat-source.ts';
import type { LiveSource } from './state/live-source.ts';
import { useConnection, useHasEnded, useIsOffline, useTaskRow } from './state/use-live.ts';

export interface ChatFootProps {
  readonly live: LiveSource;
  readonly source: ChatSource;
  readonly isPast: boolean;
  /** True if the user may only read. Default: false. */
  readonly isReadOnly?: boolean | undefined;
  readonly onBackToNow: () => void;
  /** Called after the user sent a message. */
  readonly onSent: () => void;
}

/**
 * The bottom of the chat: approval requests, queued messages, activity and the message field. Requests
 * and queued messages are in a row of their own. Only the conversation gets smaller when they appear,
 * and the message field keeps its place.
 */
export function ChatFoot(props: ChatFootProps) {
  const { live, source, isPast, isReadOnly = false, onBackToNow, onSent } = props;
  const hasEnded = useHasEnded(live) && !isPast;
  const isOffline = useIsOffline(live) && !isPast;
  return (
    <>
      <div className="chat-dock">
        <div className="chat-foot-main">
          <ApprovalDock source={source} handle={isPast || isReadOnly ? undefined : live.handle} />
          <QueueView source={source} canWithdraw={!isPast && !isReadOnly} />
        </div>
      </div>
      <div className="chat-foot">
        <div className="chat-foot-main">
          <ActivityLine {...{ source, isPast, hasEnded, isOffline }} />
          {isPast ? (
            <div className="past">
              <span>You are viewing an earlier moment.</span>
              <Button onClick={onBackToNow}>Back to now</Button>
            </div>
          ) : isReadOnly ? (
            <p className="past">You can read this session, but not write in it.</p>
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
  if (isMissing) return 'This session does not exist.';
  if (status === 'DELETED') return 'This session was deleted.';
  return isClosed(status) ? 'This session is closed.' : undefined;
}

/** Returns why nobody can write in a session that has no agent of its own. */
function readOnlyText(agents: ListedTask['agents'] | undefined): string | undefined {
  if (agents == null || agents.length > 0) return undefined;
  return 'This session has no agent of its own, for example because a sub-agent wrote it. You can only read it.';
}

function ClosedNotice({ text }: { readonly text: string }) {
  return (
    <p className="past">
      <span>{text}</span>
      <Link to={{ page: 'new' }}>Start another session</Link>
    </p>
  );
}

function LiveComposer({ live, onSent }: Pick<ChatFootProps, 'live' | 'onSent'>) {
  const { outbox } = useApp();
  const hasEnded = useHasEnded(live);
  // A question also keeps the run open, so the user can stop the run instead of answering.
  const isRunning = useSourceValue(live, isUnfinished) && !hasEnded;
  const row = useTaskRow(live);
  const agents = useListedTask(live.id)?.agents;
  const agent = agents?.[0];
  const reason = closedText(useConnection(live), row?.status) ?? readOnlyText(agents);
  // Most agents can be steered. The buttons do not move when the list of sessions confirms it.
  const canSteer = agents == null || agent?.registration_metadata?.['kind'] === 'loop';
  const stop = useCallback(async () => {
    await live.handle.stop();
  }, [live]);
  useKey('escape', () => isRunning && void stop().catch(() => {}));
  if (reason !== undefined) return <ClosedNotice text={reason} />;
  return (
    <Composer
      draftKey={live.id}
      focusKey={live.id}
      placeholder={agent === undefined ? 'Write a message' : `Message ${agent.name}`}
      isRunning={isRunning}
      canSteer={canSteer}
      onStop={stop}
      onSend={async ({ text, when, upload }) => {
        const attachments = await upload(live.id);
        if (!outbox.add(live.id, text, when, attachments)) throw new Error(outboxFullText);
        onSent();
      }}
    />
  );
}
