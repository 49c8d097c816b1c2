import { useEffect, useMemo, useRef, useState } from 'react';
import { useApp } from '../app/app-context.ts';
import { Link } from '../app/route.tsx';
import type { ChatSource } from '../chat/state/chat-source.ts';
import type { LiveSource } from '../chat/state/live-source.ts';
import { IconButton } from '../design/button.tsx';
import { CrossIcon } from '../design/icons.tsx';
import { Inspector } from './inspector.tsx';
import { PastSourceFactory } from './past-source.ts';
import type { OnMoment } from './playback/moment.ts';
import './inspector-panel.css';
import './inspector-page.css';

/** The properties of the inspector. The callbacks report which moment the chat must show. */
export interface InspectorPanelProps {
  readonly live: LiveSource;
  /** The offset of the selected record. Undefined means the current state. */
  readonly at: number | undefined;
  readonly onMoment: (at: number | undefined) => void;
  readonly onSource: (source: ChatSource | undefined) => void;
  readonly onClose: () => void;
}

/** The pause between two changes of the URL. Browsers limit how often a page may change it. */
const urlMs = 250;

/** The inspector next to the chat. The chat shows the selected moment. */
export function InspectorPanel({ live, at, onMoment, onSource, onClose }: InspectorPanelProps) {
  const { client } = useApp();
  const [moment, setMoment] = useState(at);
  const written = useRef(at);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const sources = useMemo(() => new PastSourceFactory((hash) => live.blob(hash)), [live]);
  useEffect(() => {
    // The panel wrote this value itself, so nothing has changed.
    if (at === written.current) return;
    clearTimeout(timer.current);
    written.current = at;
    setMoment(at);
  }, [at]);
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(returnFocus, []);
  const write = (to: number | undefined) => {
    clearTimeout(timer.current);
    written.current = to;
    onMoment(to);
  };
  const move: OnMoment = (to, found) => {
    setMoment(to);
    // While the records of another part are read, the chat stays as it is.
    if (to === undefined) onSource(undefined);
    else if (found !== undefined) onSource(sources.at(found.state, found.facts, live));
    const isCrossing = (to === undefined) !== (written.current === undefined);
    if (isCrossing) return write(to);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => write(to), urlMs);
  };
  return (
    <aside className="inspector-panel" aria-label="Inspector">
      <header>
        <h2>Inspector</h2>
        <Link
          className="button"
          data-look="quiet"
          data-size="small"
          to={{ page: 'inspect', id: live.id, at: moment }}
        >
          Full width
        </Link>
        <IconButton size="small" label="Close the inspector" onClick={onClose}>
          <CrossIcon />
        </IconButton>
      </header>
      <Inspector client={client} taskId={live.id} at={moment} onMoment={move} />
    </aside>
  );
}

/**
 * Stores which element has the focus. Returns a function that gives the focus back to that element.
 */
function returnFocus(): () => void {
  const opener = document.activeElement;
  return () => {
    const isLost = document.activeElement === null || document.activeElement === document.body;
    if (isLost && opener instanceof HTMLElement && opener.isConnected) opener.focus();
  };
}
