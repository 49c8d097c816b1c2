import type { ItemId, ResponseDetails, Stop, Usage } from '@millrace/core';
import type { Provider, StreamStep } from '../contract/provider.ts';
import type { ProviderError } from '../contract/provider-error.ts';
import { wrapProvider } from '../provider/wrap-provider.ts';
import { type Clock, systemClock } from '../transport/clock.ts';
import { badOption, checkNames } from './check-options.ts';

/** One entry of `logRequests`. Entries never contain content of the request or of the answer. */
export type RequestLogEntry = RequestLogHead &
  (
    | {
        readonly type: 'request_started';
        /** Number of items in the request. */
        readonly items: number;
        /** Number of tools in the request. */
        readonly tools: number;
      }
    | { readonly type: 'first_delta'; readonly afterMs: number }
    | {
        readonly type: 'request_finished';
        readonly afterMs: number;
        /** The number of deltas in the answer. */
        readonly deltas: number;
        readonly stop: Stop;
        readonly usage: Usage;
        readonly details?: ResponseDetails;
        readonly warnings?: readonly string[];
        /** The error without its stack and its cause, and without secrets. */
        readonly error?: ReturnType<ProviderError['toJSON']>;
      }
    /** The caller stopped reading before the answer ended. */
    | { readonly type: 'request_left'; readonly afterMs: number; readonly deltas: number }
  );

/** The fields that every entry has. They identify the attempt. */
export interface RequestLogHead {
  readonly provider: string;
  readonly model: string;
  readonly itemId: ItemId;
  readonly turn: number;
  readonly attempt: number;
}

/** Options of `logRequests`. */
export interface RequestLogOptions {
  /** Called for each entry. If the function throws, the entry is lost and the request continues. */
  readonly log: (entry: RequestLogEntry) => void;
  /** The clock for durations. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

/**
 * Logs the start, the first delta and the end of each request, with durations, usage and errors.
 *
 * @example
 * const provider = logRequests(anthropic({ model: 'claude-sonnet-4-5' }), {
 *   log: (entry) => console.log(JSON.stringify(entry)),
 * });
 */
export function logRequests(provider: Provider, options: RequestLogOptions): Provider {
  checkNames('logRequests', options, ['log', 'clock']);
  const { log, clock = systemClock } = options;
  if (typeof log !== 'function') throw badOption('logRequests', 'log is missing; pass a function');
  const logged = wrapProvider(provider, async function* (request, context, next) {
    const { id: itemId, turn, attempt } = context.item;
    const head = { provider: provider.id, model: provider.model, itemId, turn, attempt };
    const write = (entry: RequestLogEntry) => {
      try {
        log(entry);
      } catch {
        // The error is ignored, because a failing log function must not end the request.
      }
    };
    const startedMs = clock.now();
    const sinceStart = () => clock.now() - startedMs;
    const { items, tools = [] } = request;
    write({ ...head, type: 'request_started', items: items.length, tools: tools.length });
    let deltas = 0;
    let isOver = false;
    try {
      for await (const step of next(request, context)) {
        if (deltas === 0 && step.deltas.length > 0)
          write({ ...head, type: 'first_delta', afterMs: sinceStart() });
        deltas += step.deltas.length;
        if (step.end !== undefined) {
          isOver = true;
          const end = endFields(step.end);
          write({ ...head, type: 'request_finished', afterMs: sinceStart(), deltas, ...end });
        }
        yield step;
      }
    } finally {
      if (!isOver) write({ ...head, type: 'request_left', afterMs: sinceStart(), deltas });
    }
  });
  return { ...logged, ...(provider.describe && { describe: provider.describe }) };
}

/** Returns the details without those fields that can contain content of the answer. */
function withoutContent({ other: _own, stopSequence: _matched, ...details }: ResponseDetails) {
  return details;
}

function endFields({ stop, usage, details, warnings, error }: NonNullable<StreamStep['end']>) {
  return {
    stop,
    usage,
    ...(details === undefined ? {} : { details: withoutContent(details) }),
    ...(warnings === undefined ? {} : { warnings }),
    ...(error === undefined ? {} : { error: error.toJSON() }),
  };
}
