import { DeltaWriter, MillraceError, noUsage } from '@millrace/core';
import { createProvider } from '../contract/create-provider.ts';
import { describePlainly } from '../contract/describe-plainly.ts';
import { leavable } from '../contract/leavable.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider, Stream, StreamContext, StreamStep } from '../contract/provider.ts';
import { stoppedBy } from '../contract/stopped-by.ts';
import { ProviderError } from '../errors/provider-error.ts';
import { type Clock, systemClock } from '../transport/clock.ts';
import { mistake, Performance } from './response-playback.ts';
import type { Pieces, Scripted, ScriptedResponse } from './script.ts';

export interface ScriptedOptions {
  readonly id?: string | undefined;
  readonly model?: string | undefined;
  readonly pieces?: Pieces | undefined;
  /** Between two steps. */
  readonly pauseMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

/** One request that was made, and for which item. */
export interface ScriptedCall {
  readonly request: ModelRequest;
  readonly context: StreamContext;
}

export interface ScriptedProvider extends Provider {
  /** The requests so far, in the order in which their first steps were asked for. */
  readonly calls: readonly ScriptedCall[];
  /** Throws where responses are left that nobody asked for, or more was asked for than scripted. */
  assertUsedUp(): void;
}

/**
 * A provider that says what it was told to: for tests, examples and demos. The same script gives the
 * same deltas each time.
 *
 * @example
 * const provider = scriptedProvider(['Hello!', (request) => `You said ${request.items.length} things.`]);
 * (await provider.complete({ items: [] })).text; // 'Hello!'
 */
export function scriptedProvider(
  script: readonly Scripted[],
  options: ScriptedOptions = {},
): ScriptedProvider {
  const { id = 'scripted', model = 'script', clock = systemClock } = options;
  const calls: ScriptedCall[] = [];
  const stream: Stream = (request, context) =>
    leavable((left) => {
      const scripted = script[calls.length];
      calls.push({ request, context });
      if (scripted === undefined) return failed(tooMany(id, script.length, calls.length));
      return perform(scripted, request, context, { ...options, id, clock, left });
    });
  const assertUsedUp = () => assertCount(script.length, calls.length);
  return { ...createProvider(id, model, stream, describePlainly), calls, assertUsedUp };
}

function assertCount(scripted: number, asked: number): void {
  const left = scripted - asked;
  if (left > 0) throw notAsScripted(`${left} of ${scripted} scripted responses were not asked for`);
  if (left < 0) throw notAsScripted(`${asked} responses were asked for, and ${scripted} scripted`);
}

function notAsScripted(message: string): ScriptedError {
  return new ScriptedError('not_as_scripted', message);
}

function tooMany(provider: string, length: number, asked: number): ProviderError {
  const message = `Cannot answer request ${asked}: the script has ${length} responses. Add one`;
  return new ProviderError('invalid_request', message, { provider });
}

/** Not all that was scripted was asked for, or more than that. */
export class ScriptedError extends MillraceError<'not_as_scripted'> {}

/** Where a response is said. */
export interface Stage {
  /** Of the provider. */
  readonly id: string;
  readonly pieces?: Pieces | undefined;
  readonly pauseMs?: number | undefined;
  readonly clock: Clock;
  /** Aborted where the reader left. */
  readonly left: AbortSignal;
}

/** Says one response in its own time. */
export async function* perform(
  scripted: Scripted,
  request: ModelRequest,
  context: StreamContext,
  stage: Stage,
): AsyncGenerator<StreamStep> {
  const response = responseTo(request, scripted, stage.id);
  if (response instanceof ProviderError) return yield* failed(response);
  const { item, ids, signal = stage.left } = stoppedBy(context, stage.left);
  const { id: itemId, turn, attempt } = item;
  const writer = new DeltaWriter({ itemId, turn, attempt, ids });
  const performance = new Performance(response, writer, item, stage);
  const pauseMs = response.pauseMs ?? stage.pauseMs ?? 0;
  for (;;) {
    const act = performance.next(signal.aborted);
    if (act.type === 'stall') await aborted(signal);
    else yield act.step;
    if (act.type === 'end') return;
    if (act.type === 'step' && pauseMs > 0) await pause(pauseMs, stage.clock, signal);
  }
}

function responseTo(
  request: ModelRequest,
  scripted: Scripted,
  provider: string,
): ScriptedResponse | ProviderError {
  try {
    const said = typeof scripted === 'function' ? scripted(request) : scripted;
    return typeof said === 'string' ? { content: { parts: [said] } } : said;
  } catch (cause) {
    return mistake(provider, 'its function throws', cause);
  }
}

/** A stream that is its end. */
export async function* failed(error: ProviderError): AsyncGenerator<StreamStep> {
  const stop = { reason: 'error', cause: error.kind } as const;
  yield { deltas: [], end: { stop, usage: noUsage, error } };
}

/** Until the time is over or the signal is aborted. */
export function pause(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      cancel();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    if (signal.aborted) done();
    else signal.addEventListener('abort', done);
  });
}

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
