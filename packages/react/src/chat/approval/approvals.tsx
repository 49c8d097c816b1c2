import { Suspense, useRef } from 'react';
import { lazyView } from '../../on-demand/lazy-view.tsx';
import { type ChatSource, useSourceValue } from '../state/chat-source.ts';
import type { ApprovalDockProps } from './approval-dock.tsx';

// Most sessions ask nothing before their first screen is shown.
const ApprovalDock = lazyView(async () => (await import('./approval-dock.tsx')).ApprovalDock);

const hasQuestion = ({ state }: ChatSource) => state.asked.length > 0;

/**
 * Shows the calls that wait for an approval, one after the other. The code loads with the first
 * question. After it, the dock stays, because it moves the focus.
 */
export function Approvals(props: ApprovalDockProps) {
  const isAsked = useSourceValue(props.source, hasQuestion);
  const isNeeded = useRef(isAsked);
  isNeeded.current ||= isAsked;
  if (!isNeeded.current) return null;
  return (
    <Suspense fallback={null}>
      <ApprovalDock {...props} />
    </Suspense>
  );
}
