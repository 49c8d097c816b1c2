import type { Fact } from '@millrace/core';

export type BarKind = 'run' | 'turn' | 'attempt' | 'tool' | 'agent' | 'approval' | 'retry' | 'span';

/**
 * `gone`: the bar was superseded or does not count. `wait`: it waits for the user or for a retry.
 */
type BarTone = 'plain' | 'bad' | 'gone' | 'wait';

/** A bar of the waterfall: an activity with a duration. */
export interface Bar {
  readonly key: string;
  readonly kind: BarKind;
  /** The nesting level. */
  readonly depth: number;
  readonly label: string;
  readonly detail: string | undefined;
  /** In ms since 1970. */
  readonly start: number;
  /** When the first content arrived, for example the first token of an attempt. */
  readonly firstContentAt: number | undefined;
  /** Undefined while the activity continues. */
  readonly end: number | undefined;
  readonly tone: BarTone;
  /** The offset of the first record; undefined for spans, which are not in the log. */
  readonly offset: number | undefined;
  readonly endOffset: number | undefined;
  /** The session of the sub-agent. Undefined if the bar is not a sub-agent. */
  readonly child: string | undefined;
  /** The span id that child spans name as their parent. Missing if the run belongs to no trace. */
  readonly spanId?: string | undefined;
  /** The trace of a run. */
  readonly traceId?: string | undefined;
  /** The parent of a span, if that parent is not a span of the agent. */
  readonly parentSpanId?: string | undefined;
}

type StopFact = Extract<Fact, { type: 'run_finished' | 'turn_finished' | 'response_finished' }>;

/** The reason of the end, with the provider's own term if it differs. */
export function stopText({ stop }: StopFact): string {
  const more = [stop.raw, stop.cause].filter((word) => word !== undefined && word !== stop.reason);
  return more.length === 0 ? stop.reason : `${stop.reason} (${more.join(', ')})`;
}

export function stopTone({ stop }: StopFact): BarTone {
  switch (stop.reason) {
    case 'error':
    case 'content_filter':
    case 'refusal':
    case 'blocked':
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
