import type { ChatSource, LiveSource } from '@millrace/react';
import { CrossIcon, IconButton } from '@millrace/react/controls';
import type { OnMoment } from '@millrace/react/inspector';
import { Inspector, PastSourceFactory } from '@millrace/react/inspector';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { useApp } from '../app/app-context.ts';
import { Link } from '../app/route.tsx';
import { pageLabels } from '../languages/page-labels.ts';
import { useBranchDialog } from './use-branch-dialog.tsx';
import './inspector-panel.css';
import './inspector-page.css';

/**
 * The properties of the inspector panel. The callbacks report the moment that the chat must show.
 */
export interface InspectorPanelProps {
  readonly live: LiveSource;
  /** The offset of the selected record. Undefined means the current state. */
  readonly at: number | undefined;
  readonly onMoment: (at: number | undefined) => void;
  readonly onSource: (source: ChatSource | undefined) => void;
  readonly onClose: () => void;
}

/** Minimum time between two changes of the URL. Browsers limit how often a page may change it. */
const urlMs = 250;

/** The inspector next to the chat. The chat shows the selected moment. */
export function InspectorPanel({ live, at, onMoment, onSource, onClose }: InspectorPanelProps) {
  const t = pageLabels();
  const { client } = useApp();
  const [moment, setMoment] = useState(at);
  const [branch, dialog] = useBranchDialog(live.id);
  const written = useRef(at);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const sources = useMemo(() => new PastSourceFactory((hash) => live.blob(hash)), [live]);
  // This must be a layout effect. An ordinary effect runs later, and the user can select another moment
  // before it runs. The ordinary effect would then compare an old address with the new moment, and would
  // select the old moment again.
  useLayoutEffect(() => {
    // The panel itself wrote this value to the URL, so the user has not selected a new moment.
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
    // If `found` is undefined, the records of this moment are still loading. The chat then keeps
    // its content.
    if (to === undefined) onSource(undefined);
    else if (found !== undefined) onSource(sources.at(found.state, found.facts, live));
    const isCrossing = (to === undefined) !== (written.current === undefined);
    if (isCrossing) return write(to);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => write(to), urlMs);
  };
  return (
    <aside className="inspector-panel" aria-label={t.inspector}>
      <header>
        <h2>{t.inspector}</h2>
        <Link
          className="button"
          data-look="quiet"
          data-size="small"
          to={{ page: 'inspect', id: live.id, at: moment }}
        >
          {t.fullPage}
        </Link>
        <IconButton size="small" label={t.closeTheInspector} onClick={onClose}>
          <CrossIcon />
        </IconButton>
      </header>
      <Inspector client={client} taskId={live.id} at={moment} onMoment={move} onBranch={branch} />
      {dialog}
    </aside>
  );
}

/** Stores the element that has the focus. Returns a function that focuses this element again. */
function returnFocus(): () => void {
  const opener = document.activeElement;
  return () => {
    const isLost = document.activeElement === null || document.activeElement === document.body;
    if (isLost && opener instanceof HTMLElement && opener.isConnected) opener.focus();
  };
}
