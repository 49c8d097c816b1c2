import { partitionPoint } from './record-index.ts';

/** A time in which nothing was recorded for long. */
interface Pause {
  /** When it began, in ms since 1970. */
  readonly at: number;
  readonly ms: number;
}

interface Cut extends Pause {
  /** All that was left out before it. */
  readonly savedMs: number;
}

/** A pause that is longer than this is long, and is drawn and played as if it lasted only a second. */
export const longPauseMs = 5_000;
const shortPauseMs = 1_000;

/**
 * Where moments are on the axis, in ms from the first record. People leave sessions for days, so long
 * pauses can be shortened: then the axis shows what happened instead of that nothing did.
 */
export class TimeAxis {
  /** Of each record, never before the one before it: a clock may jump. */
  readonly times: number[] = [];
  readonly #cuts: Cut[] = [];

  get start(): number {
    return this.times[0] ?? 0;
  }

  get end(): number {
    return this.times.at(-1) ?? 0;
  }

  get pauses(): readonly Pause[] {
    return this.#cuts;
  }

  add(time: number): void {
    const before = this.times.at(-1) ?? time;
    const now = Math.max(before, time);
    this.times.push(now);
    const ms = now - before;
    if (ms <= longPauseMs) return;
    const last = this.#cuts.at(-1);
    const savedMs = last === undefined ? 0 : last.savedMs + last.ms - shortPauseMs;
    this.#cuts.push({ at: before, ms, savedMs });
  }

  lengthMs(shortenPauses: boolean): number {
    return this.position(this.end, shortenPauses);
  }

  position(time: number, shortenPauses: boolean): number {
    const cut = shortenPauses ? this.#cutBefore(time) : undefined;
    const plain = time - this.start;
    if (cut === undefined) return Math.max(0, plain);
    const into = Math.min(1, (time - cut.at) / cut.ms);
    return plain - cut.savedMs - into * (cut.ms - shortPauseMs);
  }

  /** What time it is at a place on the axis, in ms since 1970. */
  timeAt(position: number, shortenPauses: boolean): number {
    const plain = this.start + position;
    if (!shortenPauses) return plain;
    const cuts = this.#cuts;
    const isBefore = (index: number) => this.position(cuts[index]?.at ?? 0, true) < position;
    const cut = cuts[partitionPoint(cuts.length, isBefore) - 1];
    if (cut === undefined) return plain;
    const into = Math.min(1, (position - this.position(cut.at, true)) / shortPauseMs);
    return plain + cut.savedMs + into * (cut.ms - shortPauseMs);
  }

  /** The index of the last record at or before a place on the axis; 0 before all. */
  indexAt(position: number, shortenPauses: boolean): number {
    const isBefore = (index: number) =>
      this.position(this.times[index] ?? 0, shortenPauses) <= position;
    return Math.max(0, partitionPoint(this.times.length, isBefore) - 1);
  }

  #cutBefore(time: number): Cut | undefined {
    const cuts = this.#cuts;
    return cuts[partitionPoint(cuts.length, (index) => (cuts[index]?.at ?? 0) < time) - 1];
  }
}
