import { cachedPercent, type FoldState, isCut, totalUsage, type Usage } from '@millrace/core';
import { duration, useNow } from '../design/time.tsx';
import type { Labels } from '../labels/labels.ts';
import { useLabels } from '../labels/use-labels.ts';
import { type ChatSource, useSourceValue } from './state/chat-source.ts';
import './activity-line.css';
import { useCallback, useEffect, useRef, useState } from 'react';

const selectStartedAt = ({ facts }: ChatSource) => facts.runStartedAt;
const selectIsRunning = ({ state }: ChatSource) => state.run !== undefined;
const selectIsAsking = ({ state }: ChatSource) => state.asked.length > 0;

/** The properties of `ActivityLine`. */
export interface ActivityLineProps {
  readonly source: ChatSource;
  /**
   * True while the chat shows an earlier moment. The line then does not show the time since the
   * start of the run.
   */
  readonly isPast: boolean;
  /**
   * True if the session has ended. The line then does not show a run as running, even if the log
   * has no end of this run.
   */
  readonly hasEnded?: boolean | undefined;
  /** True while the connection is lost. The line then shows the last known activity. */
  readonly isOffline?: boolean | undefined;
}

/**
 * One line that shows the current activity and the cost. It is visible even without activity, so
 * that the layout does not jump.
 */
export function ActivityLine(props: ActivityLineProps) {
  const t = useLabels();
  const { source, isPast, hasEnded = false, isOffline = false } = props;
  const isRunning = useSourceValue(source, selectIsRunning) && !hasEnded;
  const isAsking = useSourceValue(source, selectIsAsking);
  const liveText = useActivityText(source);
  const text = hasEnded ? '' : liveText;
  const startedAt = useSourceValue(source, selectStartedAt);
  return (
    <div className="activity">
      {isRunning && isOffline ? (
        <span>{t.lastKnown(text)}</span>
      ) : isRunning ? (
        <span className="activity-now">
          {!isAsking && <span className="spinner" aria-hidden="true" />}
          {text}
          {startedAt !== undefined && !isPast && <Since key={text} at={startedAt} />}
        </span>
      ) : (
        <span className={isAsking ? 'activity-now' : undefined}>{text}</span>
      )}
      <UsageLine source={source} />
    </div>
  );
}

function Since({ at }: { readonly at: number }) {
  const passed = useNow(1000) - at;
  // In the first second, no time is shown. Times of more than a day come from a wrong clock and are
  // not shown either.
  return passed < 1000 || passed > 86_400_000 ? null : (
    <span className="activity-since">{duration(Math.floor(passed / 1000) * 1000)}</span>
  );
}

/** Returns what the agent does now, in a few words. Empty if no run is in progress. */
export function useActivityText(source: ChatSource): string {
  const t = useLabels();
  return useSourceValue(
    source,
    useCallback((from: ChatSource) => activityText(from, t), [t]),
  );
}

function activityText({ state }: ChatSource, t: Labels): string {
  if (state.asked.length > 0) return t.waitingForAnswer;
  if (state.run === undefined) return '';
  const open = state.open.at(-1);
  switch (open?.begin.kind) {
    case 'reasoning':
      return t.thinking;
    case 'tool_call':
      return t.callingTool(open.begin.name);
    case 'tool_result':
      return t.runningTool(open.begin.name);
    case undefined:
      return t.working;
    default:
      return t.writing;
  }
}

const sums = new WeakMap<FoldState['usage'], Usage>();

/** Returns the usage of all requests of a session. It is the same object until it changes. */
export function usageOf({ state }: ChatSource): Usage {
  const sum = sums.get(state.usage) ?? totalUsage(state);
  sums.set(state.usage, sum);
  return sum;
}

const style = { notation: 'compact', maximumFractionDigits: 1 } as const;
const formats = new Map<string, Intl.NumberFormat>();

/**
 * Formats a number in a compact form. The first call creates the formatter, because creating it is
 * slow.
 */
function compact(count: number, { locale }: Labels): string {
  const format = formats.get(locale) ?? new Intl.NumberFormat(locale, style);
  formats.set(locale, format);
  return format.format(count);
}

const hasCutUsage = ({ state }: ChatSource) => isCut(state.usage);

/** The tokens and the cost of a session so far. */
export function UsageLine({ source }: { readonly source: ChatSource }) {
  const t = useLabels();
  const usage = useSourceValue(source, usageOf);
  const { input, output, costs, estimated } = usage;
  // A sum of only the recent requests would be wrong. The other requests are loaded soon.
  const isPartial = useSourceValue(source, hasCutUsage);
  if (input + output === 0 || isPartial) return null;
  const prefix = estimated ? '≈ ' : '';
  const cached = cachedPercent(usage) ?? 0;
  const cost = costs.map(({ amount, currency }) => `${Number(amount).toFixed(4)} ${currency}`);
  // Some models report only the tokens of their answer.
  const tokens = [
    ...(input > 0 ? [t.tokensIn(compact(input, t), cached)] : []),
    ...(output > 0 ? [t.tokensOut(compact(output, t))] : []),
  ];
  const text = prefix + [...tokens, ...cost].join(' · ');
  // Each text gets a new element. The text is aligned right, so its start would move otherwise.
  return (
    <span key={text} className="activity-usage" title={t.usageHint}>
      {text}
    </span>
  );
}

const selectAskedTool = ({ state }: ChatSource) => state.asked.at(0)?.name;

/**
 * Announces to screen readers when a run starts or ends and when an approval is required. It never
 * announces message text.
 */
export function Announcer({ source }: { readonly source: ChatSource }) {
  const t = useLabels();
  const isRunning = useSourceValue(source, selectIsRunning);
  const asked = useSourceValue(source, selectAskedTool);
  const [text, setText] = useState('');
  const wasRunning = useRef(isRunning);
  useEffect(() => {
    if (asked !== undefined) setText(t.asksPermission(asked));
    else if (isRunning && !wasRunning.current) setText(t.theAgentIsWorking);
    else if (!isRunning && wasRunning.current) setText(t.theAgentIsDone);
    wasRunning.current = isRunning;
  }, [isRunning, asked, t]);
  return (
    <p className="unseen" role="status">
      {text}
    </p>
  );
}
