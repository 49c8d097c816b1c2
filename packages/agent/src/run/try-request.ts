import { type DraftRecord, type ItemId, noUsage, type Stop, type Usage } from '@millrace/core';
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

export interface Tried {
  readonly end: ResponseEnd;
  readonly itemId: ItemId;
}

export interface Try {
  readonly provider: Provider;
  readonly request: ModelRequest;
  /** What the answer is written to. */
  readonly kind: 'assistant' | 'context';
  readonly turn: number;
  readonly attempt: number;
}

/**
 * One attempt at a turn's request, streamed into the log. Of an answer that came to its own end, the
 * last parts are committed together with that end; what becomes of any other the caller decides.
 */
export async function tryRequest(context: RunContext, tried: Try): Promise<Tried> {
  const { settings, journal } = context;
  const { provider, kind, turn, attempt } = tried;
  const itemId = settings.ids.item();
  const at = { turn, attempt };
  const { id, model } = provider;
  await journal.write([
    { ...at, fact: { type: 'item_started', itemId, kind } },
    { ...at, fact: { type: 'response_started', itemId, provider: id, model } },
  ]);
  const left = new AbortController();
  const end = await Promise.race([stream(context, tried, itemId, left), givenUp(context, left)]);
  if (end !== undefined) return { end, itemId };
  await journal.settled();
  await journal.write(closedParts(journal.state, 'aborted'));
  return { end: failed(provider, 'aborted', 'it did not stop when it was told to'), itemId };
}

/** Writes down what is said, until its end or until it is left. */
async function stream(
  { settings, journal, calls, signal }: RunContext,
  { provider, request, turn, attempt }: Try,
  itemId: ItemId,
  left: AbortController,
): Promise<ResponseEnd | undefined> {
  const at = { turn, attempt };
  const check = new DeltaCheck(itemId, at);
  const context = { item: { id: itemId, ...at }, ids: settings.ids, signal };
  const steps: AsyncIterable<StreamStep> = provider.stream(request, context);
  for await (const { deltas, end } of steps) {
    if (left.signal.aborted) return undefined;
    const isSound = deltas.every((delta) => check.follows(delta));
    if (!isSound) return cut(journal, failed(provider, 'protocol_error', 'its deltas do not fit'));
    const drafts = deltas.map((delta): DraftRecord => ({ ...at, delta: calls.named(delta) }));
    if (end === undefined) {
      const full = drafts.length > 0 ? journal.stream(drafts) : undefined;
      if (full !== undefined) await full;
      continue;
    }
    left.abort();
    const isWhole = end.error === undefined;
    await journal.write(isWhole ? [...drafts, finished(at, itemId, end.stop, end.usage)] : drafts);
    return end;
  }
  left.abort();
  return cut(journal, failed(provider, 'protocol_error', 'its stream ended without an end'));
}

/** What is open is closed, because nobody else will. */
async function cut(journal: RunContext['journal'], end: ResponseEnd): Promise<ResponseEnd> {
  await journal.settled();
  await journal.write(closedParts(journal.state, 'cut'));
  return end;
}

/** A provider that does not stop when it is told to is not waited for beyond a moment. */
function givenUp({ settings, signal }: RunContext, left: AbortController): Promise<undefined> {
  return new Promise((resolve) => {
    const onAbort = () => {
      const giveUp = () => {
        left.abort();
        resolve(undefined);
      };
      const cancel = settings.clock.after(settings.retry.toolGraceMs, giveUp);
      left.signal.addEventListener('abort', cancel);
    };
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { signal: left.signal });
  });
}

export function finished(
  at: { readonly turn: number; readonly attempt: number },
  itemId: ItemId,
  stop: Stop,
  usage: Usage,
): DraftRecord {
  return { ...at, fact: { type: 'response_finished', itemId, stop, usage } };
}

/** A provider that breaks its contract, which the suite would have found. */
function failed({ id }: Provider, kind: ProviderErrorKind, why: string): ResponseEnd {
  const error = new ProviderError(kind, `Cannot use the answer: ${why}`, { provider: id });
  const reason = kind === 'aborted' ? 'aborted' : 'error';
  return { stop: { reason }, usage: { ...noUsage, estimated: true }, error };
}
