import { DeltaWriter, MillraceError, noUsage } from '@millrace/core';
import type { ModelInfo } from '../contract/model-info.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider, Stream, StreamContext, StreamStep } from '../contract/provider.ts';
import { ProviderError } from '../contract/provider-error.ts';
import { abortOnReturn, withAbortSignal } from '../provider/abort-on-return.ts';
import { describeModelRequest, providerOf } from '../provider/create-provider.ts';
import { type Clock, systemClock, waitFor } from '../transport/clock.ts';
import { assertProviderOptions } from '../wire/api-options.ts';
import { ResponsePlayback, scriptMistake } from './response-playback.ts';
import {
  responseOf,
  type ScriptEntry,
  type ScriptedPieces,
  type ScriptedResponse,
} from './script.ts';

/** Options of `scriptedProvider`. */
export interface ScriptedOptions {
  /** Id of the provider. Default: `scripted`. */
  readonly id?: string | undefined;
  /** Name of the model. Default: `script`. */
  readonly model?: string | undefined;
  /**
   * The data about the model. Default: `{ prices: 'reported' }`, so answers report their own cost and `maxCost`
   * can be used.
   */
  readonly info?: ModelInfo | undefined;
  /** The rule that splits text into deltas. Default: `character`. */
  readonly pieces?: ScriptedPieces | undefined;
  /** Delay between two steps in milliseconds. Default: 0. */
  readonly pauseMs?: number | undefined;
  /** The clock for the pauses. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

/** A request that the provider received, with the context of its stream. */
export interface ReceivedRequest {
  readonly request: ModelRequest;
  readonly context: StreamContext;
}

/** A provider that plays a script and stores the requests that it receives. */
export interface ScriptedProvider extends Provider {
  /** The requests received until now, in the order in which their streams were first read. */
  readonly requests: readonly ReceivedRequest[];
  /** Throws if scripted responses are unused, or if there were more requests than responses. */
  assertUsedUp(): void;
}

/**
 * Creates a provider that plays scripted responses, for tests, examples and demos. The same script always
 * produces the same deltas.
 *
 * @example
 * const provider = scriptedProvider(['Hello!', (request) => `The request has ${request.items.length} items.`]);
 * (await provider.complete({ items: [] })).text; // 'Hello!'
 */
export function scriptedProvider(
  script: readonly ScriptEntry[],
  options: ScriptedOptions = {},
): ScriptedProvider {
  assertProviderOptions('scriptedProvider', options, {
    ...{ id: true, model: true, info: true, pieces: true, pauseMs: true, clock: true },
  });
  const { id = 'scripted', model = 'script', clock = systemClock } = options;
  const { info = { prices: 'reported' } } = options;
  const requests: ReceivedRequest[] = [];
  const stream: Stream = (request, context) =>
    abortOnReturn((readerClosed) => {
      const scripted = script[requests.length];
      requests.push({ request, context });
      if (scripted === undefined) return failedStream(tooMany(id, script.length, requests.length));
      return playResponse(scripted, request, context, {
        ...options,
        id,
        clock,
        readerClosed: readerClosed,
      });
    });
  const assertUsedUp = () => assertCount(script.length, requests.length);
  const provider = providerOf(id, model, stream, describeModelRequest, info);
  return { ...provider, requests, assertUsedUp };
}

function assertCount(scripted: number, asked: number): void {
  const left = scripted - asked;
  if (left > 0) throw notAsScripted(`${left} of ${scripted} scripted responses were not used`);
  if (left < 0)
    throw notAsScripted(`${asked} requests were made, but only ${scripted} responses are scripted`);
}

function notAsScripted(message: string): ScriptedProviderError {
  return new ScriptedProviderError('not_as_scripted', message);
}

function tooMany(provider: string, length: number, asked: number): ProviderError {
  const message = `Cannot answer request ${asked}: the script has only ${length} ${length === 1 ? 'entry' : 'entries'}. Add an entry for each request`;
  return new ProviderError('invalid_request', message, { provider });
}

/** Thrown if the number of requests differs from the number of scripted responses. */
export class ScriptedProviderError extends MillraceError<'not_as_scripted'> {}

/** Settings of one response. */
interface PlaybackOptions {
  /** Id of the provider. */
  readonly id: string;
  readonly pieces?: ScriptedPieces | undefined;
  readonly pauseMs?: number | undefined;
  readonly clock: Clock;
  /** Aborts when the reader stops reading. */
  readonly readerClosed: AbortSignal;
}

/** Streams one response with its pauses. */
async function* playResponse(
  scripted: ScriptEntry,
  request: ModelRequest,
  context: StreamContext,
  options: PlaybackOptions,
): AsyncGenerator<StreamStep> {
  const response = responseTo(request, scripted, options.id);
  if (response instanceof ProviderError) return yield* failedStream(response);
  const {
    item,
    ids,
    signal = options.readerClosed,
  } = withAbortSignal(context, options.readerClosed);
  const { id: itemId, turn, attempt } = item;
  const writer = new DeltaWriter({ itemId, turn, attempt, ids });
  const playback = new ResponsePlayback(response, writer, item, { ...options, request, ids });
  const pauseMs = response.pauseMs ?? options.pauseMs ?? 0;
  for (;;) {
    const event = playback.next(signal.aborted);
    if (event.type === 'stall') await waitForAbort(signal);
    else yield event.step;
    if (event.type === 'end') return;
    if (event.type === 'step' && pauseMs > 0) await waitFor(pauseMs, options.clock, signal);
  }
}

function responseTo(
  request: ModelRequest,
  scripted: ScriptEntry,
  provider: string,
): ScriptedResponse | ProviderError {
  try {
    return responseOf(typeof scripted === 'function' ? scripted(request) : scripted);
  } catch (cause) {
    return scriptMistake(provider, 'its function threw an error', cause);
  }
}

/** Returns a stream whose only step is an end with an error. */
async function* failedStream(error: ProviderError): AsyncGenerator<StreamStep> {
  const stop = { reason: 'error', cause: error.kind } as const;
  yield { deltas: [], end: { stop, usage: noUsage, error } };
}

function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
