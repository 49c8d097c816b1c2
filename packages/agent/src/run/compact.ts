import {
  type Attempt,
  type DraftRecord,
  findItem,
  itemId,
  type PartId,
  transcript,
} from '@millrace/core';
import type { Provider } from '@millrace/providers';
import { type Compaction, coverable } from '../context/compaction.ts';
import { contextOf, summaryId } from '../context/context-of.ts';
import { withBytes } from './build-request.ts';
import type { RunContext } from './context.ts';
import { responseFinished } from './response-finished.ts';
import { textOf } from './text-of.ts';
import { tryRequest } from './try-request.ts';
import { halted, unlessAborted } from './unless-aborted.ts';

/** Has the model say what was said long ago in fewer words: a turn of its own. False where that failed. */
export async function compact(
  context: RunContext,
  turn: number,
  { keepSteps, summarize }: Compaction,
  provider: Provider | undefined,
): Promise<boolean> {
  const { journal, settings, standing } = context;
  const said = contextOf(transcript(journal.state), journal.loop.compacted);
  const itemIds = coverable(said, keepSteps).flat();
  if (itemIds.length === 0 || provider === undefined) return false;
  const at = { turn, attempt: 1 };
  if (summarize === false) {
    await journal.write([{ turn: 0, attempt: 0, fact: { type: 'compacted', itemIds } }]);
    return true;
  }
  await journal.write([{ turn, attempt: 0, fact: { type: 'turn_started' } }]);
  const old = said.filter(({ id }) => id === summaryId || itemIds.includes(id));
  const work = Promise.all(old.map((item) => withBytes(item, settings.log.blobs)));
  const items = await unlessAborted(work, context.signal);
  const asked = {
    id: itemId('summarise'),
    kind: 'user',
    parts: [{ kind: 'text', text: summarize }],
  } as const;
  if (items === halted || standing.isAborting) {
    const stop = { reason: 'aborted' } as const;
    await journal.write([{ turn, attempt: 0, fact: { type: 'turn_finished', stop } }]);
    return false;
  }
  const request = { ...settings.request, items: [...items, asked] };
  const tried = await tryRequest(context, { provider, request, kind: 'context', ...at });
  const { error, stop, usage } = tried.end;
  const reason = context.signal.aborted ? 'aborted' : 'error';
  const failed = error && ({ reason, cause: error.kind } as const);
  const written = findItem(journal.state, tried.itemId)?.parts ?? [];
  const summary = textOf(written.map(({ part }) => part));
  // Half a summary, or a refusal, must not stand for what was said.
  const isDone = stop.reason === 'stop' && failed === undefined && summary !== '';
  const ended: readonly DraftRecord[] = [
    ...written.flatMap(({ id, part }) => (part?.kind === 'tool_call' ? [unasked(at, id)] : [])),
    ...(failed ? [responseFinished(at, tried.itemId, failed, usage)] : []),
    {
      turn,
      attempt: 0,
      fact: { type: 'turn_finished', itemId: tried.itemId, stop: failed ?? stop },
    },
    ...(isDone
      ? [{ turn: 0, attempt: 0, fact: { type: 'compacted', itemIds, summary } } as const]
      : []),
  ];
  standing.isTurnEnding = true;
  await journal.write(ended);
  standing.isTurnEnding = false;
  return isDone;
}

/** A call in a summary is made by nobody. */
function unasked(at: Attempt, partId: PartId): DraftRecord {
  return { ...at, delta: { type: 'retract_part', partId, reason: 'discarded' } };
}
