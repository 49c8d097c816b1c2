import { type PointerEvent, useMemo, useRef, useState } from 'react';
import { useLabels } from '../../labels/use-labels.ts';
import type { ComparedMoments } from '../compare/compare-view.tsx';
import type { Track, TrackMark } from './track.ts';
import { TurnPreview, type TurnSummary } from './turn-preview.tsx';

/** The properties of `Scrubber`. */
export interface ScrubberProps {
  readonly track: Track;
  /** The offset of the selected record. */
  readonly offset: number;
  /** The offset of the last record. It is 0 if there are no records. */
  readonly last: number;
  readonly text: string;
  readonly moments: ComparedMoments;
  /** Returns the content of a turn, for its preview. `next` is the mark after the turn. */
  readonly preview: (mark: TrackMark, next: TrackMark | undefined) => TurnSummary | undefined;
  /** Called when the user selects another record. */
  readonly onOffset: (offset: number) => void;
}

/** A slider over the whole session that shows its turns. The inspector handles the keys. */
export function Scrubber(props: ScrubberProps) {
  const t = useLabels();
  const { track, offset, last, text, moments, preview, onOffset } = props;
  const element = useRef<HTMLDivElement>(null);
  const [hovered, setHovered] = useState<number>();
  const shareAt = (clientX: number) => {
    const box = element.current?.getBoundingClientRect();
    if (box === undefined) return undefined;
    return Math.min(1, Math.max(0, (clientX - box.left) / box.width));
  };
  const scrub = ({ clientX, buttons, currentTarget, pointerId }: PointerEvent) => {
    const share = shareAt(clientX);
    setHovered(share);
    if (buttons !== 1 || last === 0 || share === undefined) return;
    currentTarget.setPointerCapture(pointerId);
    onOffset(track.offsetAt(share));
  };
  const place = `${track.placeOf(offset) * 100}%`;
  const at = hovered === undefined ? -1 : track.marks.findLastIndex(({ from }) => from <= hovered);
  const [mark, next] = [track.marks[at], track.marks[at + 1]];
  return (
    <div className="scrubber-frame">
      {mark !== undefined && (
        <TurnPreview mark={mark} summary={preview(mark, next)} place={hovered ?? 0} />
      )}
      <div
        ref={element}
        className="scrubber"
        role="slider"
        tabIndex={0}
        aria-label={t.momentOfTheSession}
        aria-disabled={last === 0}
        aria-valuemin={1}
        aria-valuemax={Math.max(1, last)}
        aria-valuenow={Math.min(Math.max(1, offset), Math.max(1, last))}
        aria-valuetext={text}
        onPointerDown={scrub}
        onPointerMove={scrub}
        onPointerLeave={() => setHovered(undefined)}
      >
        <Density density={track.density} />
        {track.marks.map(({ offset: start, from, to, hasError }) => (
          <div
            key={start}
            className="scrubber-mark"
            data-error={hasError || undefined}
            style={{ left: `${from * 100}%`, width: `${Math.max(0, to - from) * 100}%` }}
          />
        ))}
        <div
          className="scrubber-window"
          style={{ left: `${track.shown.from * 100}%`, right: `${(1 - track.shown.to) * 100}%` }}
        />
        <div className="scrubber-future" style={{ left: place }} />
        <div className="scrubber-head" style={{ left: place }} />
        {(['a', 'b'] as const).map((name) => {
          const moment = moments[name];
          if (moment === undefined) return null;
          const left = `${track.placeOf(moment) * 100}%`;
          return (
            <div key={name} className="scrubber-flag" data-moment={name} style={{ left }}>
              {name.toUpperCase()}
            </div>
          );
        })}
      </div>
    </div>
  );
}

function Density({ density }: { readonly density: readonly number[] }) {
  const path = useMemo(
    () => density.map((height, at) => `M${at + 0.1} 40v${-38 * height}h.8V40`).join(''),
    [density],
  );
  return (
    <svg viewBox={`0 0 ${density.length} 40`} preserveAspectRatio="none" aria-hidden="true">
      <path d={path} />
    </svg>
  );
}
