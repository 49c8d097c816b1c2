import type { Clock } from '@millrace/client';
import { useEffect, useMemo, useRef, useState } from 'react';
import { pageClock } from '../../design/time.tsx';
import type { SessionModel } from '../model/session-model.ts';

export type Speed = 0.1 | 0.5 | 1 | 4 | 20 | 100 | 'at once';

export const speeds: readonly Speed[] = [0.1, 0.5, 1, 4, 20, 100, 'at once'];

/** The records to play, and their positions in time. More records may arrive during playback. */
interface Recording {
  readonly length: () => number;
  /** Returns the position of a record, in ms from the first record. Positions never decrease. */
  readonly positionOf: (index: number) => number;
}

interface PlaybackOptions {
  readonly recording: Recording;
  readonly clock: Clock;
  /**
   * Called with the index of the current record. If several records are due together, it is called
   * once, with the last index.
   */
  readonly onMove: (index: number) => void;
  readonly onStop: () => void;
}

/** The time between two frames, at about 60 frames per second. */
const frameMs = 16;

/** Plays records in order, at their recorded times. */
export class Playback {
  readonly #options: PlaybackOptions;
  #index = 0;
  #speed: Speed = 1;
  /**
   * The position in the recording at which the current speed started, and the clock time of that
   * moment.
   */
  #base = { position: 0, now: 0 };
  #stopTimer: (() => void) | undefined;

  constructor(options: PlaybackOptions) {
    this.#options = options;
  }

  get isPlaying(): boolean {
    return this.#stopTimer !== undefined;
  }

  play(index: number, speed: Speed): void {
    this.#clear();
    this.#index = index;
    this.#speed = speed;
    this.#setBase(this.#options.recording.positionOf(index));
    this.#next();
  }

  /**
   * Changes the speed. Playback continues at the current position, even if this position is between
   * two records.
   */
  setSpeed(speed: Speed): void {
    const position = this.#position();
    this.#speed = speed;
    if (!this.isPlaying) return;
    this.#clear();
    this.#setBase(position);
    this.#next();
  }

  pause(): void {
    this.#clear();
  }

  #clear(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }

  #setBase(position: number): void {
    this.#base = { position, now: this.#options.clock.now() };
  }

  #position(): number {
    if (this.#speed === 'at once') return Number.POSITIVE_INFINITY;
    const { position, now } = this.#base;
    return position + (this.#options.clock.now() - now) * this.#speed;
  }

  #next(): void {
    const { recording, clock } = this.#options;
    const { isAtEnd } = this.#move();
    if (isAtEnd) return this.#end();
    const waitMs =
      this.#speed === 'at once'
        ? 0
        : (recording.positionOf(this.#index + 1) - this.#position()) / this.#speed;
    this.#stopTimer = clock.after(Math.max(frameMs, waitMs), () => this.#next());
  }

  #move(): { readonly isAtEnd: boolean } {
    const { recording, onMove } = this.#options;
    const position = this.#position();
    const last = recording.length() - 1;
    let index = this.#index;
    while (index < last && recording.positionOf(index + 1) <= position) index++;
    if (index !== this.#index) {
      this.#index = index;
      onMove(index);
    }
    return { isAtEnd: index >= last };
  }

  #end(): void {
    this.#clear();
    this.#options.onStop();
  }
}

export interface Player {
  readonly isPlaying: boolean;
  readonly speed: Speed;
  readonly setSpeed: (speed: Speed) => void;
  readonly play: (index: number) => void;
  readonly pause: () => void;
}

export function usePlayback(
  model: SessionModel,
  shortenPauses: boolean,
  onMove: (index: number) => void,
): Player {
  const [isPlaying, setIsPlaying] = useState(false);
  const [speed, setSpeed] = useState<Speed>(1);
  const move = useRef(onMove);
  move.current = onMove;
  const playback = useMemo(() => {
    const { axis } = model;
    return new Playback({
      clock: pageClock,
      recording: {
        length: () => axis.times.length,
        positionOf: (index) => axis.position(axis.times[index] ?? 0, shortenPauses),
      },
      onMove: (index) => move.current(index),
      onStop: () => setIsPlaying(false),
    });
  }, [model, shortenPauses]);
  useEffect(() => {
    return () => {
      playback.pause();
      setIsPlaying(false);
    };
  }, [playback]);
  return {
    isPlaying,
    speed,
    setSpeed: (next) => {
      setSpeed(next);
      playback.setSpeed(next);
    },
    play: (index) => {
      setIsPlaying(true);
      playback.play(index, speed);
    },
    pause: () => {
      playback.pause();
      setIsPlaying(false);
    },
  };
}
