import { type DraftRecord, type ItemId, noUsage, type Stop, type Usage } from '@millrace/core';
import {
  type ModelRequest,
  type Provider,
  ProviderError,
  type ResponseEnd,
} from '@millrace/providers';
import type { RunContext } from './context.ts';

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
export async function tryRequest(
  { settings, journal, signal }: RunContext,
  { provider, request, kind, turn, attempt }: Try,
): Promise<Tried> {
  const { ids } = settings;
  const itemId = ids.item();
  const at = { turn, attempt };
  const { id, model } = provider;
  await journal.write([
    { ...at, fact: { type: 'item_started', itemId, kind } },
    { ...at, fact: { type: 'response_started', itemId, provider: id, model } },
  ]);
  const context = { item: { id: itemId, ...at }, ids, signal };
  for await (const { deltas, end } of provider.stream(request, context)) {
    const drafts = deltas.map((delta): DraftRecord => ({ ...at, delta }));
    if (end === undefined) {
      if (drafts.length > 0) await journal.stream(drafts);
      continue;
    }
    const isWhole = end.error === undefined;
    const last = isWhole ? [...drafts, finished(at, itemId, end.stop, end.usage)] : drafts;
    await journal.write(last);
    return { end, itemId };
  }
  await journal.settled();
  return { end: endless(provider), itemId };
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
function endless({ id }: Provider): ResponseEnd {
  const message = 'Cannot use the answer: its stream ended without an end';
  const error = new ProviderError('protocol_error', message, { provider: id });
  return { stop: { reason: 'error' }, usage: { ...noUsage, estimated: true }, error };
}
