import type { TaskOutline } from '@millrace/client';
import { duration } from '../../design/time.tsx';
import type { Labels } from '../../labels/labels.ts';
import { countUpTo, type SessionModel } from '../model/session-model.ts';
import type { TimeWindow } from '../timeline/zoom.ts';

/** A mark on the scrubber: a turn, or a segment of a long session. */
export interface TrackMark {
  readonly offset: number;
  /** The start on the track, from 0 to 1. */
  readonly from: number;
  readonly to: number;
  readonly label: string;
  readonly hasError: boolean;
}

/** The data that the scrubber draws. All places are numbers from 0 to 1. */
export interface Track {
  /** The heights of the bars, from 0 to 1. */
  readonly density: readonly number[];
  readonly marks: readonly TrackMark[];
  /** The place of a record. */
  placeOf(offset: number): number;
  /** The offset of the record at a place. */
  offsetAt(place: number): number;
  /** The range of the track that the timeline shows. */
  readonly shown: TimeWindow;
}

const buckets = 160;
/** Maximum number of marks. More marks would be narrower than a pixel. */
const maxMarks = 400;

const limited = (share: number) => Math.min(1, Math.max(0, share));

/** Returns the track of a session whose records are all loaded. The track shows time. */
export function wholeTrack(model: SessionModel, shortenPauses: boolean, window: TimeWindow): Track {
  const { axis, records, spans } = model;
  const length = axis.lengthMs(shortenPauses) || 1;
  const placeOfTime = (time: number) => limited(axis.position(time, shortenPauses) / length);
  const indexOf = (offset: number) => Math.max(0, countUpTo(records, offset) - 1);
  const turns = spans.spans.filter(({ kind }) => kind === 'turn').slice(-maxMarks);
  return {
    density: heights(records.map((_, index) => placeOfTime(axis.times[index] ?? 0))),
    marks: turns.map(({ offset, name, startTime, endTime, status }) => ({
      ...{ offset, from: placeOfTime(startTime), to: placeOfTime(endTime ?? axis.end) },
      label: `${name}, ${duration((endTime ?? axis.end) - startTime)}`,
      hasError: status === 'error',
    })),
    placeOf: (offset) => placeOfTime(axis.times[indexOf(offset)] ?? axis.start),
    offsetAt: (place) => records[axis.indexAt(place * length, shortenPauses)]?.offset ?? 0,
    shown: { from: limited(window.from / length), to: limited(window.to / length) },
  };
}

/**
 * Returns the track of a long session with only some records loaded. The track shows offsets of the
 * log.
 */
export function outlineTrack(
  { segments, through }: TaskOutline,
  model: SessionModel,
  t: Labels,
): Track {
  const length = Math.max(1, through);
  const most = segments.reduce((max, { calls, turns }) => Math.max(max, calls + turns), 1);
  const density = Array.from({ length: buckets }, (_, at) => {
    const offset = ((at + 0.5) / buckets) * length;
    const segment = segments.find((one) => one.through >= offset);
    return segment === undefined ? 0 : Math.sqrt((segment.calls + segment.turns) / most);
  });
  const last = model.records.at(-1)?.offset ?? model.after;
  return {
    density,
    marks: segments.map(({ after, through: to, first_turn, turns, errors }) => ({
      ...{ offset: after + 1, from: after / length, to: to / length, hasError: errors > 0 },
      label: turns > 1 ? t.turnRange(first_turn, first_turn + turns - 1) : t.turnNumber(first_turn),
    })),
    placeOf: (offset) => limited(offset / length),
    offsetAt: (place) => Math.max(1, Math.round(place * length)),
    shown: { from: model.after / length, to: limited(last / length) },
  };
}

/** Counts the places in each bucket, and scales the counts to the range from 0 to 1. */
function heights(places: readonly number[]): readonly number[] {
  const counts = new Array<number>(buckets).fill(0);
  for (const place of places) {
    const at = Math.min(buckets - 1, Math.floor(place * buckets));
    counts[at] = (counts[at] ?? 0) + 1;
  }
  const max = counts.reduce((most, count) => Math.max(most, count), 1);
  // The square root keeps a single fact visible next to a large number of tokens.
  return counts.map((count) => Math.sqrt(count / max));
}
