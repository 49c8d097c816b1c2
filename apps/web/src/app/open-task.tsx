import { useEffect, useRef } from 'react';
import { type ChatSource, useSourceValue } from '../chat/state/chat-source.ts';
import { useTaskTitle } from '../chat/state/use-live.ts';
import { useApp } from './app-context.ts';

const selectIsAsking = ({ state }: ChatSource) => state.asked.length > 0;
const selectIsRunning = ({ state }: ChatSource) => state.run !== undefined;

/**
 * The open session outside of its page: in the window's title, which says that it waits to whoever looks at
 * another tab, and in the list, which is asked for again when a run begins, asks or ends: else it would call a
 * session in progress for seconds after its run.
 */
export function OpenTask({ id }: { readonly id: string }) {
  const { sources, directory } = useApp();
  const live = sources.get(id);
  const title = useTaskTitle(live);
  const isAsking = useSourceValue(live, selectIsAsking);
  const isRunning = useSourceValue(live, selectIsRunning);
  const work = `${isRunning} ${isAsking}`;
  const lastWork = useRef(work);
  useEffect(() => {
    document.title = `${isAsking ? 'Waits for you · ' : ''}${title} · Millrace`;
    return () => {
      document.title = 'Millrace';
    };
  }, [isAsking, title]);
  useEffect(() => {
    if (lastWork.current !== work) void directory.refresh();
    lastWork.current = work;
  }, [directory, work]);
  return null;
}
