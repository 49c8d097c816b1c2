import type { UpdateInput } from '@millrace/server';
import type { AgentOutputItem, RunItem, RunStreamEvent } from '@openai/agents';
import { saidBefore } from '../model/model-failure.ts';
import { RunUpdates } from './run-updates.ts';

/** A `StreamedRunResult`, or any stream of such events. */
export interface RunEvents extends AsyncIterable<RunStreamEvent> {
  readonly newItems?: readonly RunItem[];
  readonly rawResponses?: readonly { readonly output: readonly AgentOutputItem[] }[];
}

/**
 * A streamed run as what a sync agent yields: text and reasoning as they come, calls, results and
 * hand-offs whole, each message under an index of its own. A run that fails throws here too, after
 * all that was said; what is open then the server keeps as partial. Whoever leaves stops the run.
 */
export async function* convertRunEvents(run: RunEvents): AsyncGenerator<UpdateInput> {
  const updates = new RunUpdates();
  const earlier = new Set(itemsOf(run));
  try {
    // Not `yield*`: in an async generator that costs four more promises for each piece.
    for await (const event of run) for (const update of updates.of(event)) yield update;
  } catch (error) {
    // When a run fails, the SDK drops the events that nobody has read yet.
    const items = itemsOf(run).filter((item) => !earlier.has(item));
    for (const rawItem of items) yield* updates.item({ rawItem });
    yield* updates.said(saidBefore(error));
    throw error;
  }
  yield* updates.end();
}

/** All that came of it so far. Of an answer that the SDK could not use, its words. */
function itemsOf({ newItems = [], rawResponses = [] }: RunEvents): readonly RunItem['rawItem'][] {
  const said = rawResponses.at(-1)?.output ?? [];
  const isWord = ({ type }: AgentOutputItem) => type === 'message' || type === 'reasoning';
  return [...newItems.map(({ rawItem }) => rawItem), ...said.filter(isWord)];
}
