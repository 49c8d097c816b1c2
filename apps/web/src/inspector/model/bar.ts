import type { Fact } from '@millrace/core';

export type BarKind = 'run' | 'turn' | 'attempt' | 'tool' | 'agent' | 'approval' | 'retry' | 'span';

/** `gone`: it was superseded or does not count. `wait`: nothing happens until somebody or something else does. */
type BarTone = 'plain' | 'bad' | 'gone' | 'wait';

/** Something that took time. */
export interface Bar {
  readonly key: string;
  readonly kind: BarKind;
  /** How deep it lies within others. */
  readonly depth: number;
  readonly label: string;
  readonly detail: string | undefined;
  /** In ms since 1970. */
  readonly start: number;
  /** When the first thing came of it: an attempt's first token. */
  readonly first: number | undefined;
  /** Undefined while it goes on. */
  readonly end: number | undefined;
  readonly tone: BarTone;
  /** The record that it begins with; undefined for what is not in the log. */
  readonly offset: number | undefined;
  readonly endOffset: number | undefined;
  /** The session of the sub-agent that it is. */
  readonly child: string | undefined;
  /** What spans that are part of it name as their parent; absent where its run is part of no trace. */
  readonly spanId?: string | undefined;
  /** Of a run that is part of one. */
  readonly traceId?: string | undefined;
  /** What a span names as its parent that is no span of an agent's. */
  readonly under?: string | undefined;
}

type StopFact = Extract<Fact, { type: 'run_finished' | 'turn_finished' | 'response_finished' }>;

/** Why it ended, with the provider's own word where that is another one. */
export function stopText({ stop }: StopFact): string {
  const more = [stop.raw, stop.cause].filter((word) => word !== undefined && word !== stop.reason);
  return more.length === 0 ? stop.reason : `${stop.reason} (${more.join(', ')})`;
}

export function stopTone({ stop }: StopFact): BarTone {
  switch (stop.reason) {
    case 'error':
    case 'content_filter':
    case 'refusal':
    case 'limit':
    case 'length':
      return 'bad';
    case 'aborted':
      return 'gone';
    case 'parked':
    case 'pause':
      return 'wait';
    case 'stop':
    case 'tool_use':
    case 'unknown':
      return 'plain';
  }
}
