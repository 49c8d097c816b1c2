import { createProvider } from '../contract/create-provider.ts';
import { describePlainly } from '../contract/describe-plainly.ts';
import { leavable } from '../contract/leavable.ts';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider, Stream, StreamContext } from '../contract/provider.ts';
import { ProviderError } from '../errors/provider-error.ts';
import { type Clock, systemClock } from '../transport/clock.ts';
import { failed, perform } from './perform.ts';
import type { Pieces } from './pieces.ts';
import type { Scripted } from './script.ts';
import { ScriptedError } from './scripted-error.ts';

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
