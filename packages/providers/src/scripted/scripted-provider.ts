import { DeltaWriter, noUsage } from '@millrace/core';
import { createProvider } from '../contract/create-provider.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider, StreamContext, StreamStep } from '../contract/provider.ts';
import { ProviderError } from '../errors/provider-error.ts';
import { type Clock, systemClock } from '../transport/clock.ts';
import { Performance } from './performance.ts';
import type { Pieces } from './pieces.ts';
import type { Scripted, ScriptedResponse } from './script.ts';

export interface ScriptedOptions {
  readonly id?: string;
  readonly model?: string;
  readonly pieces?: Pieces;
  /** Between two steps. */
  readonly pauseMs?: number;
  readonly clock?: Clock;
}

/** One request that was made, and for which item. */
export interface ScriptedCall {
  readonly request: ModelRequest;
  readonly context: StreamContext;
}

export interface ScriptedProvider extends Provider {
  /** The requests so far, in the order in which they came. */
  readonly calls: readonly ScriptedCall[];
  /** Throws where responses are left that nobody asked for. */
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
  const stream = (request: ModelRequest, context: StreamContext): AsyncIterable<StreamStep> => {
    const scripted = script[calls.length];
    calls.push({ request, context });
    if (scripted === undefined) return refused(id, script.length, calls.length);
    return perform(responseTo(request, scripted), context, { ...options, id, clock });
  };
  return {
    ...createProvider(id, model, stream),
    calls,
    assertUsedUp: () => {
      const left = script.length - calls.length;
      if (left > 0)
        throw new Error(`${left} of ${script.length} scripted responses were not asked for`);
    },
  };
}

function responseTo(request: ModelRequest, scripted: Scripted): ScriptedResponse {
  const said = typeof scripted === 'function' ? scripted(request) : scripted;
  return typeof said === 'string' ? { content: { parts: [said] } } : said;
}

async function* perform(
  response: ScriptedResponse,
  { item, ids, signal }: StreamContext,
  options: ScriptedOptions & { readonly id: string; readonly clock: Clock },
): AsyncGenerator<StreamStep> {
  const { id: itemId, turn, attempt } = item;
  const writer = new DeltaWriter({ itemId, turn, attempt, ids });
  const performance = new Performance(response, writer, item, options);
  const pauseMs = response.pauseMs ?? options.pauseMs ?? 0;
  for (;;) {
    const step = performance.next(signal?.aborted ?? false);
    if (step.type === 'stall') await aborted(signal);
    else yield step.step;
    if (step.type === 'end') return;
    if (step.type === 'step' && pauseMs > 0) await pause(pauseMs, options.clock, signal);
  }
}

async function* refused(id: string, length: number, asked: number): AsyncGenerator<StreamStep> {
  const message = `Cannot answer request ${asked}: the script has ${length} responses. Add one`;
  const error = new ProviderError('invalid_request', message, { provider: id });
  yield {
    deltas: [],
    end: { stop: { reason: 'error', cause: error.kind }, usage: noUsage, error },
  };
}

function pause(ms: number, clock: Clock, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    if (signal?.aborted) done();
    else signal?.addEventListener('abort', done);
  });
}

function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve();
    else signal?.addEventListener('abort', () => resolve(), { once: true });
  });
}
