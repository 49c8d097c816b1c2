import { partitionPoint } from './record-index.ts';

/** A long period without records. */
interface Pause {
  /** The time at which the pause started, in ms since 1970. */
  readonly at: number;
  readonly ms: number;
}

interface Cut extends Pause {
  /** The total time that earlier shortened pauses remove from the axis, in ms. */
  readonly savedMs: number;
}

/** A longer pause takes only one second in the timeline and in playback. */
export const longPauseMs = 5_000;
const shortPauseMs = 1_000;

/**
 * Converts times to positions on the time axis, in ms from the first record. Sessions can pause for
 * days, so long pauses can be shortened.
 */
export class TimeAxis {
  /** The time of each record. Times never decrease, even if the clock jumps back. */
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

  /** Returns the time at a position of the axis, in ms since 1970. */
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

  /**
   * Returns the index of the last record at or before a position. Returns 0 before the first
   * record.
   */
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
