import { type PointerEvent, useMemo, useRef } from 'react';
import type { SessionModel } from '../model/session-model.ts';
import type { TimeWindow } from '../timeline/zoom.ts';
import { momentText } from './moment.ts';

interface ScrubberProps {
  readonly model: SessionModel;
  readonly count: number;
  readonly index: number;
  readonly shortenPauses: boolean;
  /** The range that the timeline below shows. */
  readonly window: TimeWindow;
  readonly onIndex: (index: number) => void;
}

const buckets = 160;

/** A slider over the whole session. The inspector around it handles the keys. */
export function Scrubber({ model, count, index, shortenPauses, window, onIndex }: ScrubberProps) {
  const track = useRef<HTMLDivElement>(null);
  const { axis } = model;
  const length = axis.lengthMs(shortenPauses) || 1;
  const percent = (position: number) => Math.min(100, Math.max(0, (position / length) * 100));
  const place = percent(axis.position(axis.times[index] ?? axis.start, shortenPauses));
  const scrub = ({ clientX, buttons, currentTarget, pointerId }: PointerEvent) => {
    if (buttons !== 1 || count === 0) return;
    currentTarget.setPointerCapture(pointerId);
    const box = track.current?.getBoundingClientRect();
    if (box === undefined) return;
    const share = Math.min(1, Math.max(0, (clientX - box.left) / box.width));
    onIndex(axis.indexAt(share * length, shortenPauses));
  };
  return (
    <div
      ref={track}
      className="scrubber"
      role="slider"
      tabIndex={0}
      aria-label="Moment of the session"
      aria-disabled={count === 0}
      aria-valuemin={1}
      aria-valuemax={Math.max(1, count)}
      aria-valuenow={Math.max(1, index + 1)}
      aria-valuetext={momentText(model, index)}
      onPointerDown={scrub}
      onPointerMove={scrub}
    >
      <Density model={model} count={count} shortenPauses={shortenPauses} />
      {shortenPauses && <Pauses model={model} percent={percent} />}
      <div
        className="scrubber-window"
        style={{ left: `${percent(window.from)}%`, right: `${100 - percent(window.to)}%` }}
      />
      <div className="scrubber-future" style={{ left: `${place}%` }} />
      <div className="scrubber-head" style={{ left: `${place}%` }} />
    </div>
  );
}

function Density({
  model,
  count,
  shortenPauses,
}: Pick<ScrubberProps, 'model' | 'count' | 'shortenPauses'>) {
  const path = useMemo(() => {
    // `count` is a dependency, because the mutable model stays the same object when it changes.
    const heights = count === 0 ? [] : densityOf(model, buckets, shortenPauses);
    return heights.map((height, at) => `M${at + 0.1} 40v${-38 * height}h.8V40`).join('');
  }, [model, count, shortenPauses]);
  return (
    <svg viewBox={`0 0 ${buckets} 40`} preserveAspectRatio="none" aria-hidden="true">
      <path d={path} />
    </svg>
  );
}

function Pauses({
  model: { axis },
  percent,
}: {
  readonly model: SessionModel;
  readonly percent: (position: number) => number;
}) {
  return axis.pauses.slice(0, 200).map(({ at, ms }) => {
    const from = percent(axis.position(at, true));
    const to = percent(axis.position(at + ms, true));
    return (
      <div
        key={at}
        className="scrubber-pause"
        style={{ left: `${from}%`, width: `${to - from}%` }}
      />
    );
  });
}

/** Returns the number of records in each bucket of the axis, scaled to the range 0 to 1. */
function densityOf(
  { axis, records }: SessionModel,
  buckets: number,
  shortenPauses: boolean,
): readonly number[] {
  const counts = new Array<number>(buckets).fill(0);
  const length = axis.lengthMs(shortenPauses) || 1;
  for (let index = 0; index < records.length; index++) {
    const at = axis.position(axis.times[index] ?? 0, shortenPauses) / length;
    const place = Math.min(buckets - 1, Math.floor(at * buckets));
    counts[place] = (counts[place] ?? 0) + 1;
  }
  const max = counts.reduce((max, count) => Math.max(max, count), 1);
  // The square root keeps single facts visible next to bursts of tokens.
  return counts.map((count) => Math.sqrt(count / max));
}
