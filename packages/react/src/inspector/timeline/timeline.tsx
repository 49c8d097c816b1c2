import { type ReactNode, useState } from 'react';
import { IconButton } from '../../design/button.tsx';
import { duration } from '../../design/time.tsx';
import { useLabels } from '../../labels/use-labels.ts';
import { FitIcon, ZoomInIcon, ZoomOutIcon } from '../inspector-icons.tsx';
import type { SessionModel } from '../model/session-model.ts';
import { type Split, Splitter } from '../split.tsx';
import { Charts } from './charts.tsx';
import { percentIn, type TimeWindow, ticksIn, type Zoom } from './zoom.ts';
import './timeline.css';

interface TimelineProps {
  readonly model: SessionModel;
  readonly count: number;
  readonly index: number;
  readonly zoom: Zoom;
  readonly split: Split;
  readonly shortenPauses: boolean;
  readonly positionOf: (time: number) => number;
  readonly onOffset: (offset: number) => void;
  /** The tree of spans. Its bars use the same time axis. */
  readonly children: ReactNode;
}

/**
 * The tree of spans next to the ruler, the charts and the bars. All of them share one time axis. A
 * line marks the selected moment.
 */
export function Timeline(props: TimelineProps) {
  const t = useLabels();
  const { model, count, index, zoom, split, shortenPauses, positionOf, onOffset } = props;
  const [hasCharts, setHasCharts] = useState(false);
  const { window } = zoom;
  const now = positionOf(model.axis.times[index] ?? model.axis.start);
  const nowPercent = percentIn(window, now);
  return (
    <section className="timeline" aria-label={t.timeLine}>
      <header className="timeline-head">
        <h3>{t.spans}</h3>
        <label className="transport-check">
          <input
            type="checkbox"
            checked={hasCharts}
            onChange={({ target }) => setHasCharts(target.checked)}
          />
          {t.charts}
        </label>
        <ZoomButtons zoom={zoom} />
      </header>
      <div
        className="timeline-body"
        ref={zoom.ref}
        style={{ '--tree': `${split.percent}%` } as React.CSSProperties}
      >
        <div className="timeline-plot" data-plot="">
          {shortenPauses && <PauseMarks {...{ window, model, positionOf }} />}
          {nowPercent >= 0 && nowPercent <= 100 && (
            <div className="timeline-now" style={{ left: `${nowPercent}%` }} />
          )}
        </div>
        <Ruler {...{ window, model, shortenPauses }} />
        {hasCharts && <Charts {...{ model, count, window, positionOf, onOffset, now }} />}
        {props.children}
        <Splitter split={split} label={t.treeWidth} />
      </div>
    </section>
  );
}

function ZoomButtons({ zoom: { zoomIn, zoomOut, showAll, isFullRange } }: { readonly zoom: Zoom }) {
  const t = useLabels();
  return (
    <div className="timeline-zoom" role="toolbar" aria-label={t.zoom}>
      <IconButton size="small" label={t.zoomIn} onClick={zoomIn}>
        <ZoomInIcon />
      </IconButton>
      <IconButton size="small" label={t.zoomOut} disabled={isFullRange} onClick={zoomOut}>
        <ZoomOutIcon />
      </IconButton>
      <IconButton size="small" label={t.theWholeSession} disabled={isFullRange} onClick={showAll}>
        <FitIcon />
      </IconButton>
    </div>
  );
}

interface AxisProps {
  readonly window: TimeWindow;
  readonly model: SessionModel;
}

/**
 * Shows the time since the first record. Its labels include the full length of pauses that are
 * drawn shortened.
 */
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
