import { useEffect, useMemo, useRef, useState } from 'react';
import { pageClock } from './page-clock.ts';
import { Playback, type Speed } from './playback.ts';
import type { SessionModel } from './session-model.ts';

export interface Player {
  readonly isPlaying: boolean;
  readonly speed: Speed;
  readonly setSpeed: (speed: Speed) => void;
  readonly play: (index: number) => void;
  readonly pause: () => void;
}

export function usePlayback(
  model: SessionModel,
  isShort: boolean,
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
      reel: {
        length: () => axis.times.length,
        positionOf: (index) => axis.position(axis.times[index] ?? 0, isShort),
      },
      onMove: (index) => move.current(index),
      onStop: () => setIsPlaying(false),
    });
  }, [model, isShort]);
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
