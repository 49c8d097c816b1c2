import { lazy, Suspense, useState } from 'react';
import { useAccess, useApp } from '../app/app-context.ts';
import { navigate } from '../app/route.tsx';
import { Skeleton } from '../design/skeleton.tsx';
import type { InspectorPanelProps } from '../inspector/inspector-panel.tsx';
import { Announcer } from './activity-line.tsx';
import { Branches } from './branch/branches.tsx';
import { ChatFoot } from './chat-foot.tsx';
import { ChatHeader } from './chat-header.tsx';
import { OutboxView, useOutgoingMessages } from './composer/outbox-view.tsx';
import { ConnectionBanner } from './connection-banner.tsx';
import type { ChatSource } from './state/chat-source.ts';
import type { LiveSource } from './state/live-source.ts';
import { useConnection, useIsOffline } from './state/use-live.ts';
import { RetryRow } from './transcript/retry-row.tsx';
import { TranscriptView } from './transcript/transcript-view.tsx';
import './chat-page.css';

// The inspector is loaded when the user opens it. If the module is missing, the header has no
// button for it.
const modules = import.meta.glob<{ InspectorPanel: React.ComponentType<InspectorPanelProps> }>(
  '../inspector/inspector-panel.tsx',
);
const [load] = Object.values(modules);
const InspectorPanel = load && lazy(async () => ({ default: (await load()).InspectorPanel }));

interface ChatPageProps {
  readonly id: string;
  /** The offset of the record at which the session is shown. Undefined shows the current state. */
  readonly at: number | undefined;
}

/** The page of a task: header, conversation, message field and, if open, the inspector. */
export function ChatPage({ id, at }: ChatPageProps) {
  const live = useApp().sources.get(id);
  const [moment, setMoment] = useState<ChatSource>();
  const [sentCount, setSentCount] = useState(0);
  const [isInspecting, setInspecting] = useState(at !== undefined);
  const isPast = at !== undefined;
  const { isReadOnly } = useAccess();
  const source = (isPast && moment) || live;
  const connection = useConnection(live);
  const isEmpty = useOutgoingMessages(id).length === 0 && isFullyLoaded(live);
  const isOpen = InspectorPanel !== undefined && (isInspecting || isPast);
  const close = () => {
    setInspecting(false);
    setMoment(undefined);
    navigate({ page: 'task', id });
  };
  return (
    <div className="chat-page" data-inspecting={isOpen || undefined}>
      <main
        className="chat"
        data-offline={useIsOffline(live) || undefined}
        data-past={isPast || undefined}
      >
        <ChatHeader
          live={live}
          isInspecting={isOpen}
          onInspect={InspectorPanel && (() => (isOpen ? close() : setInspecting(true)))}
        />
        <ConnectionBanner connection={connection} onReconnect={() => live.handle.reconnect()} />
        <Branches live={live} isPast={isPast || isReadOnly}>
          <TranscriptView
            source={source}
            sentCount={sentCount}
            emptyText={isEmpty ? 'No messages yet.' : undefined}
          >
            {!isPast && !isReadOnly && <RetryRow live={live} />}
            {!isPast && <OutboxView live={live} />}
          </TranscriptView>
        </Branches>
        <ChatFoot
          {...{ live, source, isPast, isReadOnly }}
          onBackToNow={close}
          onSent={() => setSentCount((count) => count + 1)}
        />
        <Announcer source={live} />
      </main>
      {isOpen && InspectorPanel && (
        <Suspense
          fallback={
            <aside className="inspector-wait">
              <Skeleton
                label="Loading the inspector"
                bars={['short', 'block', 'full', 'middle', 'full']}
              />
            </aside>
          }
        >
          <InspectorPanel
            live={live}
            at={at}
            onMoment={(to) => navigate({ page: 'task', id, at: to }, { replace: isPast })}
            onSource={setMoment}
            onClose={close}
          />
        </Suspense>
      )}
    </div>
  );
}

/** Returns true after all existing records were read once. */
function isFullyLoaded({ handle }: LiveSource): boolean {
  const { connection, isCatchingUp } = handle.snapshot();
  return (connection.state === 'live' && !isCatchingUp) || connection.state === 'ended';
}
