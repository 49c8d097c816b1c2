import { type DraftRecord, type ItemId, isMillraceError, noUsage } from '@millrace/core';
import {
  type ModelRequest,
  type Provider,
  ProviderError,
  type ProviderErrorKind,
  type ResponseEnd,
  type StreamStep,
} from '@millrace/providers';
import { DeltaCheck } from './check-deltas.ts';
import type { RunContext } from './context.ts';
import { closedParts } from './recover.ts';
import { responseFinished } from './response-finished.ts';
import { traceOfAttempt } from './trace-of.ts';
import { unlessAborted } from './unless-aborted.ts';

export interface Try {
  readonly provider: Provider;
  readonly request: ModelRequest;
  /** What the answer is written to. */
  readonly kind: 'assistant' | 'context';
  readonly turn: number;
  readonly attempt: number;
}

/** Writes down what a provider says, until its end or until it is left. */
export async function streamResponse(
  context: RunContext,
  tried: Try,
  itemId: ItemId,
  left: AbortController,
): Promise<ResponseEnd | undefined> {
  const { settings, signal, journal } = context;
  const { provider, request, turn, attempt } = tried;
  const item = { id: itemId, turn, attempt };
  try {
    const trace = traceOfAttempt(journal.loop, item);
    const stream = provider.stream(request, { item, ids: settings.ids, signal, trace });
    const steps = stream[Symbol.asyncIterator]();
    try {
      return await written(context, tried, { steps, itemId, left });
    } finally {
      // One that does not let itself be left is left all the same.
      const closed = Promise.resolve(steps.return?.());
      const grace = { clock: settings.clock, ms: settings.retry.toolGraceMs };
      await unlessAborted(closed, AbortSignal.abort(), grace);
    }
  } finally {
    left.abort();
  }
}

interface Response {
  readonly steps: AsyncIterator<StreamStep>;
  readonly itemId: ItemId;
  readonly left: AbortController;
}

async function written(
  { journal, calls }: RunContext,
  { provider, turn, attempt }: Try,
  { steps, itemId, left }: Response,
): Promise<ResponseEnd | undefined> {
  const at = { turn, attempt };
  const check = new DeltaCheck(itemId, at);
  const broken = (why: string) => cut(journal, failed(provider, 'protocol_error', why));
  for (let step = await steps.next(); !step.done; step = await steps.next()) {
    if (left.signal.aborted) return undefined;
    const { deltas, end } = step.value;
    if (!deltas.every((delta) => check.follows(delta))) return broken('its deltas do not fit');
    const drafts = deltas.map((delta): DraftRecord => ({ ...at, delta: calls.named(delta) }));
    if (end === undefined) {
      const full = drafts.length > 0 ? journal.stream(drafts) : undefined;
      if (full !== undefined) await full;
      continue;
    }
    // From now on it is not waited for, and what it says does not count.
    left.abort();
    const isWhole = end.error === undefined;
    if (!isSoundEnd(end) || (isWhole && !check.isClosed)) return broken('its end does not fit');
    const last = isWhole ? [responseFinished(at, itemId, end.stop, end.usage)] : [];
    await journal.write([...drafts, ...last]);
    return end;
  }
  return broken('its stream ended without an end');
}

function isSoundEnd({ stop, usage, error }: Partial<ResponseEnd>): boolean {
  const isCounted = Number.isSafeInteger(usage?.input) && Number.isSafeInteger(usage?.output);
  const isOurs = error === undefined || isMillraceError(error);
  return typeof stop?.reason === 'string' && isCounted && isOurs;
}

/** What is open is closed, because nobody else will. */
async function cut(journal: RunContext['journal'], end: ResponseEnd): Promise<ResponseEnd> {
  await journal.settled();
  await journal.write(closedParts(journal.state, 'cut'));
  return end;
}

/** A provider that breaks its contract, which the suite would have found. */
export function failed({ id }: Provider, kind: ProviderErrorKind, why: string): ResponseEnd {
  const error = new ProviderError(kind, `Cannot use the answer: ${why}`, { provider: id });
  const reason = kind === 'aborted' ? 'aborted' : 'error';
  return { stop: { reason }, usage: { ...noUsage, estimated: true }, error };
}
