import { type FoldState, totalUsage, type Usage } from '@millrace/core';
import { duration, useNow } from '../design/time.tsx';
import { type ChatSource, useRead } from './state/chat-source.ts';
import './activity-line.css';
import { useEffect, useRef, useState } from 'react';

const startedOf = ({ facts }: ChatSource) => facts.runStartedAt;
const isRunningOf = ({ state }: ChatSource) => state.run !== undefined;

interface ActivityLineProps {
  readonly source: ChatSource;
  /** How long it has run by now says nothing of the moment that is looked at. */
  readonly isPast: boolean;
  /** Nothing more comes: what goes on by the log does not. */
  readonly isOver?: boolean | undefined;
}

/** What goes on, and what it has cost: a line that is always there, so that nothing jumps. */
export function ActivityLine({ source, isPast, isOver = false }: ActivityLineProps) {
  const isRunning = useRead(source, isRunningOf) && !isOver;
  const now = useRead(source, wordsOf);
  const words = isOver ? '' : now;
  const startedAt = useRead(source, startedOf);
  return (
    <div className="activity">
      {isRunning ? (
        <span className="activity-now">
          <span className="spinner" aria-hidden="true" />
          {words}
          {startedAt !== undefined && !isPast && <Since at={startedAt} />}
        </span>
      ) : (
        <span>{words}</span>
      )}
      <UsageLine source={source} />
    </div>
  );
}

function Since({ at }: { readonly at: number }) {
  const passed = useNow(1000) - at;
  // No zero at the start; and a clock that is set otherwise than the server's would tell nonsense.
  return passed < 1000 || passed > 86_400_000 ? null : (
    <span className="activity-since">{duration(Math.floor(passed / 1000) * 1000)}</span>
  );
}

function wordsOf({ state }: ChatSource): string {
  if (state.asked.length > 0) return 'Waiting for your answer';
  if (state.run === undefined) return '';
  const open = state.open.at(-1);
  switch (open?.begin.kind) {
    case 'reasoning':
      return 'Thinking';
    case 'tool_call':
      return `Calling ${open.begin.name}`;
    case 'tool_result':
      return `Running ${open.begin.name}`;
    case undefined:
      return 'Working';
    default:
      return 'Writing';
  }
}

const sums = new WeakMap<FoldState['usage'], Usage>();

function usageOf({ state }: ChatSource): Usage {
  const sum = sums.get(state.usage) ?? totalUsage(state);
  sums.set(state.usage, sum);
  return sum;
}

const style = { notation: 'compact', maximumFractionDigits: 1 } as const;
let format: Intl.NumberFormat | undefined;

/** Its format is made when it is first needed, because that takes long. */
function compact(count: number): string {
  format ??= new Intl.NumberFormat('en', style);
  return format.format(count);
}

function UsageLine({ source }: { readonly source: ChatSource }) {
  const { input, output, costs, estimated } = useRead(source, usageOf);
  if (input + output === 0) return null;
  const about = estimated ? '≈ ' : '';
  const cost = costs.map(({ amount, currency }) => `${Number(amount).toFixed(4)} ${currency}`);
  return (
    <span className="activity-usage" title="Tokens sent and generated in this session">
      {[`${about}${compact(input)} in`, `${compact(output)} out`, ...cost].join(' · ')}
    </span>
  );
}

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
