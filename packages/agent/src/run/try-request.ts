import type { ItemId } from '@millrace/core';
import type { ResponseEnd } from '@millrace/providers';
import type { RunContext } from './context.ts';
import { closedParts } from './recover.ts';
import { failed, streamResponse, type Try } from './stream-response.ts';

export interface Tried {
  readonly end: ResponseEnd;
  readonly itemId: ItemId;
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
  const streamed = streamResponse(context, tried, itemId, left);
  const end = await Promise.race([streamed, givenUp(context, left)]);
  if (end !== undefined) return { end, itemId };
  await journal.settled();
  await journal.write(closedParts(journal.state, 'aborted'));
  return { end: failed(provider, 'aborted', 'it did not stop when it was told to'), itemId };
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
