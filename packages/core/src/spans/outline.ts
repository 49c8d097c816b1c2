import type { Fact } from '../protocol/fact.ts';
import type { LogRecord } from '../protocol/record.ts';
import { addUsage, noUsage, type Usage } from '../protocol/usage.ts';
import { statusOfStop } from './span.ts';

/** A range of a log with a summary of its records. It contains no content of messages. */
export interface Segment {
  /** The offset after which the segment starts. */
  readonly after: number;
  /** The offset of the last record. */
  readonly through: number;
  /** The time of the first record, in milliseconds since 1970. */
  readonly startTime: number;
  /** The time of the last record. */
  readonly endTime: number;
  /** The number of records. */
  readonly records: number;
  /** The number of runs, turns and calls that started in the segment. */
  readonly runs: number;
  readonly turns: number;
  readonly calls: number;
  /** The number of failed calls, failed turns and retries. */
  readonly errors: number;
  /** The first turn of the segment. It is 0 if no record of the segment belongs to a turn. */
  readonly firstTurn: number;
  /** The usage that was reported in the segment. The usage of a turn is added when the turn ends. */
  readonly usage: Usage;
  /**
   * True if no run, turn or question was open before the segment. A reader can then fold the log from this
   * segment on, without earlier records.
   */
  readonly isRunStart: boolean;
}

/** A summary of a whole log in a limited number of segments. */
export interface Outline {
  /** The offset of the last record that the outline includes. */
  readonly through: number;
  /** The segments in order. Each segment starts at the end of the previous segment. */
  readonly segments: readonly Segment[];
  /**
   * A segment with at least this number of records ends at the next turn. The number doubles as the log
   * grows.
   */
  readonly segmentRecords: number;
  /** The current run. */
  readonly run: string | undefined;
  /**
   * True if the last run has ended and no turn or question is open. It is also true before the first record.
   */
  readonly isIdle: boolean;
  /** The turns of the current run that are not finished. */
  readonly openTurns: ReadonlySet<number>;
  /** The last reported usage of each attempt of an open turn. A later report replaces an earlier report. */
  readonly openUsage: ReadonlyMap<string, Usage>;
}

/** The outline of an empty log. */
export const emptyOutline: Outline = {
  through: 0,
  segments: [],
  segmentRecords: 64,
  run: undefined,
  isIdle: true,
  openTurns: new Set(),
  openUsage: new Map(),
};

/** Options of `foldOutline`. */
export interface OutlineOptions {
  /** The maximum number of segments. It limits the size of an outline. Default: 256. */
  readonly maxSegments?: number;
}

/** The maximum number of open attempts and turns whose state the outline keeps. */
const maxOpen = 1000;

/**
 * Adds records to an outline and returns the new outline. The number of segments has a limit. If there are
 * too many, neighbouring segments are joined. The time of a call depends on the number of new records and on
 * this limit.
 */
export function foldOutline(
  before: Outline,
  records: readonly LogRecord[],
  { maxSegments = 256 }: OutlineOptions = {},
): Outline {
  const writer = new OutlineWriter(before, maxSegments);
  for (const record of records) writer.add(record);
  return writer.outline;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

class OutlineWriter {
  readonly #outline: Mutable<Outline>;
  readonly #maxSegments: number;
  #segments: Mutable<Segment>[];
  readonly #openTurns: Set<number>;
  readonly #openUsage: Map<string, Usage>;

  constructor(before: Outline, maxSegments: number) {
    this.#outline = { ...before };
    this.#maxSegments = Math.max(2, maxSegments);
    this.#segments = before.segments.map((segment) => ({ ...segment }));
    this.#openTurns = new Set(before.openTurns);
    this.#openUsage = new Map(before.openUsage);
  }

  get outline(): Outline {
    return {
      ...this.#outline,
      segments: this.#segments,
      openTurns: this.#openTurns,
      openUsage: this.#openUsage,
    };
  }

  add(record: LogRecord): void {
    const { turn, offset, time, fact } = record;
    const segment = this.#segmentFor(record);
    segment.through = offset;
    segment.endTime = Math.max(segment.endTime, time);
    segment.records++;
    if (segment.firstTurn === 0) segment.firstTurn = turn;
    this.#outline.through = offset;
    this.#outline.isIdle = false;
    if (turn > 0 && this.#openTurns.size < maxOpen && fact?.type !== 'turn_finished')
      this.#openTurns.add(turn);
    if (fact !== undefined) this.#addFact(segment, record, fact);
  }

  /** Returns the segment for a record: the last segment, or a new segment. */
  #segmentFor(record: LogRecord): Mutable<Segment> {
    const last = this.#segments.at(-1);
    const { isIdle, segmentRecords } = this.#outline;
    if (last !== undefined) {
      const isTurn = record.fact?.type === 'turn_started';
      const isFull = last.records >= segmentRecords * (isTurn ? 1 : 4);
      const isEnough = isIdle && last.records * 4 >= segmentRecords;
      if (!isFull && !isEnough) return last;
    }
    if (this.#segments.length >= this.#maxSegments) this.#join();
    const created: Mutable<Segment> = {
      ...{ after: this.#outline.through, through: record.offset, records: 0 },
      ...{ startTime: record.time, endTime: record.time, isRunStart: isIdle },
      ...{ runs: 0, turns: 0, calls: 0, errors: 0, firstTurn: 0, usage: noUsage },
    };
    this.#segments.push(created);
    return created;
  }

  /** Joins neighbouring segments, so that the outline has room for new segments. */
  #join(): void {
    while (this.#segments.length > this.#maxSegments / 2) {
      this.#outline.segmentRecords *= 2;
      const joined: Mutable<Segment>[] = [];
      for (const segment of this.#segments) {
        const last = joined.at(-1);
        const fits =
          last !== undefined && last.records + segment.records <= this.#outline.segmentRecords;
        if (fits) joined[joined.length - 1] = joinSegments(last, segment);
        else joined.push(segment);
      }
      this.#segments = joined;
    }
  }

  #addFact(segment: Mutable<Segment>, { turn, attempt }: LogRecord, fact: Fact): void {
    switch (fact.type) {
      case 'run_started':
        segment.runs++;
        this.#outline.run = fact.runId;
        this.#openTurns.clear();
        return;
      case 'run_finished': {
        const isOver = fact.runId === this.#outline.run && fact.stop.reason !== 'parked';
        this.#outline.isIdle = isOver && this.#openTurns.size === 0;
        this.#outline.run = undefined;
        return this.#addUsage(segment);
      }
      case 'turn_started':
        segment.turns++;
        return;
      case 'turn_finished':
        this.#openTurns.delete(turn);
        if (statusOfStop(fact.stop) === 'error') segment.errors++;
        return this.#addUsage(segment);
      case 'tool_execution_started':
        segment.calls++;
        return;
      case 'tool_execution_finished':
        if (fact.isError && fact.outcome === 'completed') segment.errors++;
        return;
      case 'retry_scheduled':
        segment.errors++;
        return;
      case 'usage_reported':
      case 'response_finished':
        return this.#setUsage(segment, `${turn}.${attempt}`, fact.usage);
      case 'child_usage_reported': {
        const { session, turn: childTurn, attempt: childAttempt } = fact.of;
        return this.#setUsage(segment, `${childTurn}.${childAttempt} ${session}`, fact.usage);
      }
      default:
        return;
    }
  }

  #setUsage(segment: Mutable<Segment>, key: string, usage: Usage): void {
    this.#openUsage.set(key, usage);
    if (this.#openUsage.size > maxOpen) this.#addUsage(segment);
  }

  #addUsage(segment: Mutable<Segment>): void {
    segment.usage = [...this.#openUsage.values()].reduce(addUsage, segment.usage);
    this.#openUsage.clear();
  }
}

function joinSegments(a: Segment, b: Segment): Mutable<Segment> {
  return {
    ...a,
    through: b.through,
    endTime: Math.max(a.endTime, b.endTime),
    records: a.records + b.records,
    runs: a.runs + b.runs,
    turns: a.turns + b.turns,
    calls: a.calls + b.calls,
    errors: a.errors + b.errors,
    firstTurn: a.firstTurn === 0 ? b.firstTurn : a.firstTurn,
    usage: addUsage(a.usage, b.usage),
  };
}
