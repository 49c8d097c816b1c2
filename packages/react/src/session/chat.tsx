import { type ReactNode, useMemo, useState } from 'react';
import { ActivityLine, Announcer } from '../chat/activity-line.tsx';
import { Approvals } from '../chat/approval/approvals.tsx';
import { Composer } from '../chat/composer/composer.tsx';
import { QueueView } from '../chat/composer/queue-view.tsx';
import { ConnectionBanner } from '../chat/connection-banner.tsx';
import { isUnfinished, useSourceValue } from '../chat/state/chat-source.ts';
import type { LiveSource } from '../chat/state/live-source.ts';
import { useConnection, useHasEnded, useIsOffline } from '../chat/state/use-live.ts';
import { MillraceContext, useMillrace } from '../context.ts';
import { useLabels } from '../labels/use-labels.ts';
import type { Session } from './session.ts';
import { Thread, type ThreadProps } from './thread.tsx';
import '../design/tokens.css';
import '../design/base.css';
import '../design/root.css';
import './chat.css';

/** The properties of `Chat`. */
export interface ChatProps extends Pick<ThreadProps, 'session' | 'emptyText'> {
  /** The text in the empty message field. Default: `Write a message`. */
  readonly placeholder?: string | undefined;
  /** The theme. Default: that of `MillraceRoot`, or of the operating system. */
  readonly theme?: 'light' | 'dark' | undefined;
}

/**
 * A whole conversation: connection, messages, questions, queued messages, activity and the field for
 * messages. It fills its parent element. To arrange the parts yourself, use `Thread`, `Approvals`,
 * `ActivityLine` and `SessionComposer`.
 */
export function Chat(props: ChatProps) {
  const t = useLabels();
  const { session, emptyText, placeholder, theme } = props;
  const { source, commands, live } = session;
  const [sentCount, setSentCount] = useState(0);
  const context = useMillrace();
  const isReadOnly = commands === undefined;
  const own = useMemo(() => ({ ...context, isReadOnly }), [context, isReadOnly]);
  const frame = (
    <MillraceContext value={own}>
      <ChatFrame label={t.chat}>
        {live && <LiveBanner live={live} />}
        <Thread {...{ session, emptyText, sentCount }} />
        <div className="chat-dock">
          <div className="chat-foot-main">
            <Approvals source={source} handle={commands} closedText={t.readOnly} />
            <QueueView source={source} onWithdraw={withdrawal(session)} />
          </div>
        </div>
        <div className="chat-foot">
          <div className="chat-foot-main">
            <SessionActivity session={session} />
            <SessionComposer
              session={session}
              placeholder={placeholder}
              onSent={() => setSentCount((count) => count + 1)}
            />
          </div>
        </div>
        <Announcer source={source} />
      </ChatFrame>
    </MillraceContext>
  );
  // A root inside of a root would have the theme of the operating system again.
  if (context.isInRoot && theme === undefined) return frame;
  return (
    <div className="millrace" data-theme={theme}>
      {frame}
    </div>
  );
}

/** The properties of `ChatFrame`. */
export interface ChatFrameProps {
  /** The name of the region for screen readers. Undefined makes it the main content of the page. */
  readonly label?: string | undefined;
  /** True while an earlier moment is shown. Default: false. */
  readonly isPast?: boolean | undefined;
  /** True while the connection is lost. Default: false. */
  readonly isOffline?: boolean | undefined;
  readonly children: ReactNode;
}

/** The layout of a conversation: its parts are below each other, and the messages get the remaining height. */
export function ChatFrame({ label, isPast, isOffline, children }: ChatFrameProps) {
  const Element = label === undefined ? 'main' : 'section';
  return (
    <Element
      className="chat"
      aria-label={label}
      data-past={isPast || undefined}
      data-offline={isOffline || undefined}
    >
      {children}
    </Element>
  );
}

function withdrawal({ commands }: Session): ((key: string) => void) | undefined {
  if (commands?.withdraw === undefined) return undefined;
  // If the agent has read the message meanwhile, the command has no effect.
  return (key) => void commands.withdraw?.(key).catch(() => {});
}

function LiveBanner({ live }: { readonly live: LiveSource }) {
  const connection = useConnection(live);
  return <ConnectionBanner connection={connection} onReconnect={() => live.handle.reconnect()} />;
}

/** Shows the current activity of the agent, and the tokens and the cost so far. */
export function SessionActivity({ session: { source, live } }: { readonly session: Session }) {
  if (live !== undefined) return <LiveActivity source={source} live={live} />;
  return <ActivityLine source={source} isPast={false} />;
}

function LiveActivity({
  source,
  live,
}: {
  readonly source: Session['source'];
  readonly live: LiveSource;
}) {
  const hasEnded = useHasEnded(live);
  const isOffline = useIsOffline(live);
  return <ActivityLine {...{ source, hasEnded, isOffline }} isPast={false} />;
}

/** The properties of `SessionComposer`. */
export interface SessionComposerProps {
  readonly session: Session;
  /** The text in the empty field. Default: `Write a message`. */
  readonly placeholder?: string | undefined;
  /** Called after a message was accepted. */
  readonly onSent?: (() => void) | undefined;
}

/** The field for messages of a session. If the user can only read, it is a note. */
export function SessionComposer({
  session: { source, commands },
  placeholder,
  onSent,
}: SessionComposerProps) {
  const t = useLabels();
  const isRunning = useSourceValue(source, isUnfinished);
  if (commands === undefined) return <p className="past">{t.readOnly}</p>;
  const { canSteer, canAttach } = commands;
  return (
    <Composer
      draftKey={source.id}
      {...{ placeholder: placeholder ?? t.writeAMessage, isRunning, canSteer, canAttach }}
      onStop={() => commands.stop()}
      stopsWithEscape
      onSend={async (message) => {
        await commands.send(message);
        onSent?.();
      }}
    />
  );
}
