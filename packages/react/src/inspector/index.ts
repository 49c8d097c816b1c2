'use client';

export type { ComparedMoments } from './compare/compare-view.tsx';
export { Inspector, type InspectorProps } from './inspector.tsx';
export {
  BackIcon,
  EndIcon,
  FitIcon,
  ForwardIcon,
  PauseIcon,
  PlayIcon,
  SaveIcon,
  StartIcon,
  ZoomInIcon,
  ZoomOutIcon,
} from './inspector-icons.tsx';
export { PastSourceFactory, stateSource } from './past-source.ts';
export type { Moment, OnMoment } from './playback/moment.ts';
export { Scrubber, type ScrubberProps } from './playback/scrubber.tsx';
export type { Track, TrackMark } from './playback/track.ts';
export type { ThumbnailLine, TurnSummary } from './playback/turn-preview.tsx';
export { Replay, type ReplayProps } from './replay.tsx';
