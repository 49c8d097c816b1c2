import { DeltaWriter, noUsage } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { StreamContext, StreamStep } from '../contract/provider.ts';
import { stoppedBy } from '../contract/stopped-by.ts';
import { ProviderError } from '../errors/provider-error.ts';
import type { Clock } from '../transport/clock.ts';
import { Performance } from './performance.ts';
import type { Pieces } from './pieces.ts';
import type { Scripted, ScriptedResponse } from './script.ts';
import { mistake } from './script-mistake.ts';
import { aborted, pause } from './waits.ts';

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
