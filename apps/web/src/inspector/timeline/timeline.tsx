import { useMemo, useState } from 'react';
import { IconButton } from '../../design/button.tsx';
import { duration } from '../../design/time.tsx';
import { FitIcon, ZoomInIcon, ZoomOutIcon } from '../inspector-icons.tsx';
import type { Bar } from '../model/bar.ts';
import type { SessionModel } from '../model/session-model.ts';
import { Charts } from './charts.tsx';
import { WaterfallView } from './waterfall-view.tsx';
import { percentIn, type TimeWindow, ticksIn, type Zoom } from './zoom.ts';
import './timeline.css';
import { CopyButton } from '../../markdown/copy-button.tsx';

interface TimelineProps {
  readonly model: SessionModel;
  readonly count: number;
  readonly index: number;
  readonly spans: readonly Bar[];
  readonly zoom: Zoom;
  readonly shortenPauses: boolean;
  readonly positionOf: (time: number) => number;
  readonly onOffset: (offset: number) => void;
}

/** The charts and the waterfall on one axis. A line marks the selected moment. */
export function Timeline(props: TimelineProps) {
  const { model, count, index, spans, zoom, shortenPauses, positionOf, onOffset } = props;
  const [hasCharts, setHasCharts] = useState(true);
  const { window, setWindow } = zoom;
  const time = model.axis.times[index] ?? model.axis.start;
  const now = positionOf(time);
  const nowPercent = percentIn(window, now);
  // biome-ignore lint/correctness/useExhaustiveDependencies: new records can add bars
  const bars = useMemo(() => model.waterfall.bars, [model, count]);
  const shared = { model, count, window, positionOf, onOffset };
  return (
    <section className="timeline" aria-label="Time line">
      <header className="timeline-head">
        <h3>Time line</h3>
        <label className="transport-check">
          <input
            type="checkbox"
            checked={hasCharts}
            onChange={({ target }) => setHasCharts(target.checked)}
          />
          Charts
        </label>
        <TraceLabel bars={bars} offset={model.records[index]?.offset ?? 0} />
        <ZoomButtons zoom={zoom} />
      </header>
      <div className="timeline-body" ref={zoom.ref}>
        <Ruler {...{ window, model, shortenPauses }} />
        {shortenPauses && <PauseMarks {...{ window, model, positionOf }} />}
        {hasCharts && <Charts {...shared} now={now} />}
        <WaterfallView
          {...shared}
          {...{ spans, now: time, onWindow: setWindow }}
          offset={model.records[index]?.offset ?? 0}
        />
        {nowPercent >= 0 && nowPercent <= 100 && (
          <div className="timeline-now" style={{ left: `${nowPercent}%` }} />
        )}
      </div>
    </section>
  );
}

function ZoomButtons({ zoom: { zoomIn, zoomOut, showAll, isFullRange } }: { readonly zoom: Zoom }) {
  return (
    <div className="timeline-zoom" role="toolbar" aria-label="Zoom">
      <IconButton size="small" label="Zoom in (+)" onClick={zoomIn}>
        <ZoomInIcon />
      </IconButton>
      <IconButton size="small" label="Zoom out (−)" disabled={isFullRange} onClick={zoomOut}>
        <ZoomOutIcon />
      </IconButton>
      <IconButton
        size="small"
        label="The whole session (0)"
        disabled={isFullRange}
        onClick={showAll}
      >
        <FitIcon />
      </IconButton>
    </div>
  );
}

interface AxisProps {
  readonly window: TimeWindow;
  readonly model: SessionModel;
}

/** Shows the time since the first record. The time includes pauses that are drawn shortened. */
function Ruler({
  window,
  model: { axis },
  shortenPauses,
}: AxisProps & { readonly shortenPauses: boolean }) {
  return (
    <div className="ruler" aria-hidden="true">
      {ticksIn(window, 6).map((tick) => (
        <span key={tick} style={{ left: `${percentIn(window, tick)}%` }}>
          {tick === 0 ? '0' : duration(axis.timeAt(tick, shortenPauses) - axis.start)}
        </span>
      ))}
    </div>
  );
}

const maxMarks = 200;

function PauseMarks({ window, model, positionOf }: AxisProps & Pick<TimelineProps, 'positionOf'>) {
  return model.axis.pauses.slice(-maxMarks).map(({ at, ms }) => {
    const left = percentIn(window, positionOf(at));
    const width = percentIn(window, positionOf(at + ms)) - left;
    if (left > 100 || left + width < 0) return null;
    return (
      <div key={at} className="pause-mark" style={{ left: `${left}%`, width: `${width}%` }}>
        <span>{duration(ms)}</span>
      </div>
    );
  });
}

/**
 * Shows the trace id of the run at this moment. With this id, a user can find the run in a tracing
 * system.
 */
function TraceLabel({ bars, offset }: { readonly bars: readonly Bar[]; readonly offset: number }) {
  const run = bars.findLast((bar) => bar.kind === 'run' && (bar.offset ?? 0) <= offset);
  if (run?.traceId === undefined) return null;
  return (
    <span className="trace-label">
      Trace <code title={run.traceId}>{run.traceId.slice(0, 8)}…</code>
      <CopyButton text={run.traceId} label="Copy the trace id" />
    </span>
  );
}
