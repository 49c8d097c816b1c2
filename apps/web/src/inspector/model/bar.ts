import type { Fact } from '@millrace/core';

export type BarKind = 'run' | 'turn' | 'attempt' | 'tool' | 'agent' | 'approval' | 'retry' | 'span';

/**
 * How a bar looks. `gone`: the activity was superseded or has no effect. `wait`: it waits for the
 * user or for a retry.
 */
type BarTone = 'plain' | 'bad' | 'gone' | 'wait';

/** A bar of the waterfall: an activity with a duration. */
export interface Bar {
  readonly key: string;
  readonly kind: BarKind;
  /** The nesting level. 0 is the top level. */
  readonly depth: number;
  readonly label: string;
  readonly detail: string | undefined;
  /** When the activity started, in ms since 1970. */
  readonly start: number;
  /** When the first content arrived, for example the first token of an attempt. */
  readonly firstContentAt: number | undefined;
  /** When the activity ended. Undefined while it continues. */
  readonly end: number | undefined;
  readonly tone: BarTone;
  /** The offset of the first record. Undefined for spans, because they are not in the log. */
  readonly offset: number | undefined;
  readonly endOffset: number | undefined;
  /** The session of the sub-agent. Undefined if the bar is not a sub-agent. */
  readonly child: string | undefined;
  /**
   * The span id of the activity. Child spans contain it as their parent. Undefined if the run
   * belongs to no trace.
   */
  readonly spanId?: string | undefined;
  /** The trace id of a run. Undefined if the run belongs to no trace. */
  readonly traceId?: string | undefined;
  /**
   * The id of a span's parent, if that parent is not itself a reported span. It can be a run, turn,
   * attempt or tool.
   */
  readonly parentSpanId?: string | undefined;
}

type StopFact = Extract<Fact, { type: 'run_finished' | 'turn_finished' | 'response_finished' }>;

/** Returns the reason of the end. If the provider's own term differs, it is included. */
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
