import { type ChatSource, useSourceValue } from '@millrace/react';
import { useEffect, useRef } from 'react';
import { pageLabels } from '../languages/page-labels.ts';
import { useApp, useTaskTitle } from './app-context.ts';

const selectIsAsking = ({ state }: ChatSource) => state.asked.length > 0;
const selectIsRunning = ({ state }: ChatSource) => state.run !== undefined;

/**
 * Updates the rest of the page when the open session changes. If the session waits for an approval,
 * the window title shows this, so that the user sees it while a different tab is open. The session
 * list is fetched again when a run starts, asks for an approval or ends. Otherwise the list would
 * be wrong until the next poll.
 */
export function OpenTask({ id }: { readonly id: string }) {
  const t = pageLabels();
  const { sources, directory } = useApp();
  const live = sources.get(id);
  const title = useTaskTitle(live);
  const isAsking = useSourceValue(live, selectIsAsking);
  const isRunning = useSourceValue(live, selectIsRunning);
  const work = `${isRunning} ${isAsking}`;
  const lastWork = useRef(work);
  useEffect(() => {
    document.title = `${isAsking ? t.waitsForYouTitle : ''}${title} · Millrace`;
    return () => {
      document.title = 'Millrace';
    };
  }, [isAsking, title, t.waitsForYouTitle]);
  useEffect(() => {
    if (lastWork.current !== work) void directory.refresh();
    lastWork.current = work;
  }, [directory, work]);
  return null;
}
