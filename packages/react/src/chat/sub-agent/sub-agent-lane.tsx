import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react';
import { useMillrace } from '../../context.ts';
import { Skeleton } from '../../design/skeleton.tsx';
import { useLabels } from '../../labels/use-labels.ts';
import { type ChatSource, useSourceValue } from '../state/chat-source.ts';
import { errorText } from '../state/error-text.ts';
import type { LiveSource, LiveSources } from '../state/live-source.ts';
import { useConnection } from '../state/use-live.ts';
import type { SubAgentViewProps } from './lane-context.ts';
import { LaneFrame, LaneItems, LaneQuestions, useLaneStatus } from './lane-view.tsx';

/** Maximum number of lanes inside each other. Deeper sub-agents are named only. */
const maxDepth = 8;

/** The place of a lane among the lanes around it. */
interface LanePlace {
  /** The task at the root. The server gives access to all sub-agents through this task. */
  readonly root: string;
  readonly depth: number;
  /** False while the page shows an earlier moment of the task. */
  readonly isNow: boolean;
}

const LanePlaceContext = createContext<LanePlace | undefined>(undefined);

/**
 * The session of a sub-agent inside its tool call. It streams while the call runs. After the call it is one
 * row, and the session is loaded when the user opens the row.
 */
export function SubAgentLane(props: SubAgentViewProps) {
  const { sources } = useMillrace();
  return sources === undefined ? (
    <SessionOf id={props.session} />
  ) : (
    <Lane {...props} sources={sources} />
  );
}

interface LaneProps extends SubAgentViewProps {
  readonly sources: LiveSources;
}

function Lane({ source, session, isRunning, sources }: LaneProps) {
  const t = useLabels();
  const outer = useContext(LanePlaceContext);
  const place = useMemo(
    (): LanePlace => ({
      root: outer?.root ?? source.id,
      depth: (outer?.depth ?? 0) + 1,
      isNow: outer?.isNow ?? sources.get(source.id) === source,
    }),
    [outer, source, sources],
  );
  const isLive = isRunning && place.isNow;
  // Undefined until the user opens or closes the lane.
  const [chosen, setChosen] = useState<boolean>();
  const isOpen = chosen ?? isLive;
  const toggle = () => setChosen(!isOpen);
  if (place.depth > maxDepth) return <p className="tool-words">{t.nestedTooDeep}</p>;
  if (!isOpen)
    return (
      <LaneFrame
        status={isLive ? 'works' : t.showItsSession}
        isRunning={isLive}
        isOpen={false}
        onToggle={toggle}
      />
    );
  return (
    <LanePlaceContext value={place}>
      <OpenLane key={session} {...{ place, session, isLive, sources }} onToggle={toggle} />
    </LanePlaceContext>
  );
}

interface OpenLaneProps {
  readonly place: LanePlace;
  readonly session: string;
  readonly isLive: boolean;
  readonly sources: LiveSources;
  readonly onToggle: () => void;
}

function OpenLane({ place, session, isLive, sources, onToggle }: OpenLaneProps) {
  const t = useLabels();
  const { isReadOnly = false } = useMillrace();
  const root = sources.get(place.root);
  const source = sources.subAgent(place.root, session);
  const status = useLaneStatus(source);
  useEnded(source, isLive);
  return (
    <LaneFrame status={status} isRunning={isLive} isOpen onToggle={onToggle}>
      {!place.isNow && <p className="tool-words">{t.wholeSessionNote}</p>}
      <LoadNotice source={source} />
      <LaneItems source={source} />
      {isLive && !isReadOnly && <LaneQuestions root={root} session={session} />}
      {!isLive && <SessionOf id={session} />}
    </LaneFrame>
  );
}

/** The id of the session of a sub-agent, as a link if the application has one. */
function SessionOf({ id }: { readonly id: string }) {
  const t = useLabels();
  const { SessionLink = TextOnly } = useMillrace();
  return (
    <p className="tool-words">
      {t.subAgentSession}{' '}
      <SessionLink id={id} view="chat">
        <code>{id}</code>
      </SessionLink>
    </p>
  );
}

function TextOnly({ children }: { readonly children: ReactNode }) {
  return children;
}

/** Connects again when a sub-agent continues after its stream has ended. */
function useEnded(source: LiveSource, isLive: boolean): void {
  const { state } = useConnection(source);
  useEffect(() => {
    if (isLive && state === 'ended') source.handle.reconnect();
  }, [source, isLive, state]);
}

const hasItems = ({ itemIds }: ChatSource) => itemIds.length > 0;

function LoadNotice({ source }: { readonly source: LiveSource }) {
  const t = useLabels();
  const connection = useConnection(source);
  const isFilled = useSourceValue(source, hasItems);
  if (connection.state === 'failed')
    return (
      <p className="tool-words" role="alert">
        {t.subAgentUnreadable} {errorText(connection.error, t)}
      </p>
    );
  const isLoading = !isFilled && connection.state !== 'ended' && connection.state !== 'live';
  return isLoading ? <Skeleton label={t.loadingSubAgent} /> : null;
}
