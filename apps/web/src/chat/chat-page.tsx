import type { ChatSource, LiveSource } from '@millrace/react';
import {
  Announcer,
  ArtifactOpener,
  ChatFrame,
  ConnectionBanner,
  TranscriptView,
  useArtifacts,
  useConnection,
  useIsOffline,
} from '@millrace/react';
import { lazyView, Skeleton } from '@millrace/react/controls';
import { Suspense, useCallback, useState } from 'react';
import { useAccess, useApp } from '../app/app-context.ts';
import { navigate } from '../app/route.tsx';
import type { InspectorPanelProps } from '../inspector/inspector-panel.tsx';
import { pageLabels } from '../languages/page-labels.ts';
import { Branches } from './branch/branches.tsx';
import { ChatFoot } from './chat-foot.tsx';
import { ChatHeader } from './chat-header.tsx';
import { OutboxView, useOutgoingMessages } from './composer/outbox-view.tsx';
import { RetryRow } from './transcript/retry-row.tsx';
import './chat-page.css';

// The inspector is loaded when the user opens it. If the module is missing, the header has no
// button for it.
const modules = import.meta.glob<{ InspectorPanel: React.ComponentType<InspectorPanelProps> }>(
  '../inspector/inspector-panel.tsx',
);
const [load] = Object.values(modules);
const InspectorPanel = load && lazyView(async () => (await load()).InspectorPanel);

interface ChatPageProps {
  readonly id: string;
  /** The offset of the record at which the session is shown. Undefined shows the current state. */
  readonly at: number | undefined;
}

/** The page of a task: header, conversation, message field and, if open, the inspector. */
export function ChatPage({ id, at }: ChatPageProps) {
  const t = pageLabels();
  const live = useApp().sources.get(id);
  const [moment, setMoment] = useState<ChatSource>();
  const [sentCount, setSentCount] = useState(0);
  const [isInspecting, setInspecting] = useState(at !== undefined);
  const isPast = at !== undefined;
  const { isReadOnly } = useAccess();
  const source = (isPast && moment) || live;
  const connection = useConnection(live);
  const isEmpty = useOutgoingMessages(id).length === 0 && isFullyLoaded(live);
  const hideInspector = useCallback(() => setInspecting(false), []);
  const artifacts = useArtifacts(source, hideInspector);
  const isOpen = InspectorPanel !== undefined && (isInspecting || isPast);
  const close = () => {
    setInspecting(false);
    setMoment(undefined);
    navigate({ page: 'task', id });
  };
  return (
    <div className="chat-page" data-inspecting={isOpen || undefined}>
      <ChatFrame isPast={isPast} isOffline={useIsOffline(live)}>
        <ChatHeader
          live={live}
          isInspecting={isOpen}
          onInspect={
            InspectorPanel &&
            (() => {
              artifacts.close();
              if (isOpen) close();
              else setInspecting(true);
            })
          }
        >
          {artifacts.button}
        </ChatHeader>
        <ConnectionBanner connection={connection} onReconnect={() => live.handle.reconnect()} />
        <Branches live={live} isPast={isPast || isReadOnly}>
          <ArtifactOpener value={artifacts.opener}>
            <TranscriptView
              source={source}
              sentCount={sentCount}
              emptyText={isEmpty ? t.noMessagesYet : undefined}
            >
              {!isPast && !isReadOnly && <RetryRow live={live} />}
              {!isPast && <OutboxView live={live} />}
            </TranscriptView>
          </ArtifactOpener>
        </Branches>
        <ChatFoot
          {...{ live, source, isPast, isReadOnly }}
          onBackToNow={close}
          onSent={() => setSentCount((count) => count + 1)}
        />
        <Announcer source={live} />
      </ChatFrame>
      {!isOpen && artifacts.panel}
      {isOpen && InspectorPanel && (
        <Suspense
          fallback={
            <aside className="inspector-wait">
              <Skeleton
                label={t.loadingInspector}
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
