import { CopyButton } from '../markdown/copy-button.tsx';
import type { Bar } from './bar.ts';

/** Which trace the run at this moment is part of, to look it up where traces are collected. */
export function TraceLabel({
  bars,
  offset,
}: {
  readonly bars: readonly Bar[];
  readonly offset: number;
}) {
  const run = bars.findLast((bar) => bar.kind === 'run' && (bar.offset ?? 0) <= offset);
  if (run?.traceId === undefined) return null;
  return (
    <span className="trace-label">
      Trace <code title={run.traceId}>{run.traceId.slice(0, 8)}…</code>
      <CopyButton text={run.traceId} label="Copy the trace's id" />
    </span>
  );
}
