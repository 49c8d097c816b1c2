import { useEffect, useRef, useState } from 'react';
import type { ChatSource } from './state/chat-source.ts';
import { useRead } from './state/use-source.ts';

const isRunningOf = ({ state }: ChatSource) => state.run !== undefined;
const askedOf = ({ state }: ChatSource) => state.asked.at(0)?.name;

/** Tells those who do not see the page when a turn begins or ends and when they are asked; never the words. */
export function Announcer({ source }: { readonly source: ChatSource }) {
  const isRunning = useRead(source, isRunningOf);
  const asked = useRead(source, askedOf);
  const [words, setWords] = useState('');
  const wasRunning = useRef(isRunning);
  useEffect(() => {
    if (asked !== undefined) setWords(`The agent asks whether it may use ${asked}.`);
    else if (isRunning && !wasRunning.current) setWords('The agent is working.');
    else if (!isRunning && wasRunning.current) setWords('The agent is done.');
    wasRunning.current = isRunning;
  }, [isRunning, asked]);
  return (
    <p className="unseen" role="status">
      {words}
    </p>
  );
}
