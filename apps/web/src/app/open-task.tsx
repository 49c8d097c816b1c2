import { useEffect, useRef } from 'react';
import type { ChatSource } from '../chat/state/chat-source.ts';
import { useRead } from '../chat/state/use-source.ts';
import { useTaskTitle } from '../chat/state/use-task-title.ts';
import { useApp } from './app-context.ts';

const isAskingOf = ({ state }: ChatSource) => state.asked.length > 0;

/**
 * The open session outside of its page: in the window's title, which says that it waits to whoever looks at
 * another tab, and in the list, which is asked for again when that changes.
 */
export function OpenTask({ id }: { readonly id: string }) {
  const { sources, directory } = useApp();
  const live = sources.get(id);
  const title = useTaskTitle(live);
  const isAsking = useRead(live, isAskingOf);
  const wasAsking = useRef(isAsking);
  useEffect(() => {
    document.title = `${isAsking ? 'Waits for you · ' : ''}${title} · Millrace`;
    return () => {
      document.title = 'Millrace';
    };
  }, [isAsking, title]);
  useEffect(() => {
    if (wasAsking.current !== isAsking) void directory.refresh();
    wasAsking.current = isAsking;
  }, [directory, isAsking]);
  return null;
}
