import {
  type Attempt,
  type DraftRecord,
  findItem,
  type Item,
  type ItemId,
  itemId,
  type PartId,
  transcript,
} from '@millrace/core';
import type { Provider } from '@millrace/providers';
import { halted, raceAbort } from '../abortable.ts';
import { applyCompaction, summaryId, withBytes } from '../context/build-request.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { Compaction } from '../contract/settings.ts';
import { responseFinished } from '../state/drafts.ts';
import { joinText } from './run-views.ts';
import { runAttempt } from './stream-response.ts';

export const summaryPrompt: string =
  'Summarise the conversation so far for yourself: what was asked, what was decided and why, what was ' +
  'done and found (names, paths, figures), and what is still to do. Leave nothing out that you will need.';

/** Decides when the context is too long, and compacts it. */
export class Compactor {
  readonly #context: RunContext;
  /** After a failed compaction, the next one waits until this turn. */
  #earliestTurn = 0;

  constructor(context: RunContext) {
    this.#context = context;
  }

  /**
   * True if the context is long and there are enough old steps. A summary for every turn would cost
   * more than it saves.
   */
  get isDue(): boolean {
    const { settings, journal } = this.#context;
    const { compaction } = settings;
    const { loop, state } = journal;
    if (compaction === undefined || loop.lastTokens < compaction.whenTokens) return false;
    if ((loop.run?.turns ?? 0) < this.#earliestTurn) return false;
    const { keepSteps } = compaction;
    const steps = compactableSteps(
      applyCompaction(transcript(state), loop.compacted),
      keepSteps,
    ).length;
    const isFirst = loop.compacted.summary === undefined;
    const isTooLong = loop.lastTokens === Number.POSITIVE_INFINITY;
    return steps >= (isFirst || isTooLong ? 1 : keepSteps);
  }

  async compact(turn: number, provider: Provider | undefined): Promise<void> {
    const { settings, journal } = this.#context;
    const { compaction = commandDefaults } = settings;
    const isDone = await compact(this.#context, turn, compaction, provider).catch(
      (error: unknown) => {
        this.#postpone();
        throw error;
      },
    );
    if (!isDone && journal.failure === undefined) this.#postpone();
  }

  #postpone(): void {
    const { run } = this.#context.journal.loop;
    this.#earliestTurn = (run?.turns ?? 0) + turnsBetween;
  }
}

const turnsBetween = 3;
/** For a `compact` command if the agent has no compaction settings. */
const commandDefaults = {
  whenTokens: Number.POSITIVE_INFINITY,
  keepSteps: 2,
  summarize: summaryPrompt,
};

/** Lets the model summarize the old steps, in a turn of its own. Returns false if that failed. */
async function compact(
  context: RunContext,
  turn: number,
  { keepSteps, summarize }: Compaction,
  provider: Provider | undefined,
): Promise<boolean> {
  const { journal, settings, phase } = context;
  const contextItems = applyCompaction(transcript(journal.state), journal.loop.compacted);
  const itemIds = compactableSteps(contextItems, keepSteps).flat();
  if (itemIds.length === 0 || provider === undefined) return false;
  const at = { turn, attempt: 1 };
  if (summarize === false) {
    await journal.write([{ turn: 0, attempt: 0, fact: { type: 'compacted', itemIds } }]);
    return true;
  }
  await journal.write([{ turn, attempt: 0, fact: { type: 'turn_started' } }]);
  const old = contextItems.filter(({ id }) => id === summaryId || itemIds.includes(id));
  const work = Promise.all(old.map((item) => withBytes(item, settings.log.blobs)));
  const items = await raceAbort(work, context.signal);
  const promptItem = {
    id: itemId('summarise'),
    kind: 'user',
    parts: [{ kind: 'text', text: summarize }],
  } as const;
  if (items === halted || phase.isAborting) {
    const stop = { reason: 'aborted' } as const;
    await journal.write([{ turn, attempt: 0, fact: { type: 'turn_finished', stop } }]);
    return false;
  }
  const request = { ...settings.request, items: [...items, promptItem] };
  const attempt = await runAttempt(context, { provider, request, kind: 'context', ...at });
  const { error, stop, usage } = attempt.end;
  const reason = context.signal.aborted ? 'aborted' : 'error';
  const failed = error && ({ reason, cause: error.kind } as const);
  const written = findItem(journal.state, attempt.itemId)?.parts ?? [];
  const summary = joinText(written.map(({ part }) => part));
  // A partial summary or a refusal must not replace the conversation.
  const isDone = stop.reason === 'stop' && failed === undefined && summary !== '';
  const ended: readonly DraftRecord[] = [
    ...written.flatMap(({ id, part }) => (part?.kind === 'tool_call' ? [retractCall(at, id)] : [])),
    ...(failed ? [responseFinished(at, attempt.itemId, failed, usage)] : []),
    {
      turn,
      attempt: 0,
      fact: { type: 'turn_finished', itemId: attempt.itemId, stop: failed ?? stop },
    },
    ...(isDone
      ? [{ turn: 0, attempt: 0, fact: { type: 'compacted', itemIds, summary } } as const]
      : []),
  ];
  phase.isTurnEnding = true;
  await journal.write(ended);
  phase.isTurnEnding = false;
  return isDone;
}

/** Calls in a summary are not run. */
function retractCall(at: Attempt, partId: PartId): DraftRecord {
  return { ...at, delta: { type: 'retract_part', partId, reason: 'discarded' } };
}

/** The old steps that a summary would replace, as item ids. A call and its result stay together. */
export function compactableSteps(
  context: readonly Item[],
  keepSteps: number,
): readonly (readonly ItemId[])[] {
  const steps: Item[][] = [];
  for (const item of context) {
    const last = steps.at(-1);
    if (item.kind === 'tool' && last !== undefined) last.push(item);
    else steps.push([item]);
  }
  const old = steps.slice(0, Math.max(0, steps.length - keepSteps));
  return old
    .map((step) => step.map(({ id }) => id).filter((id) => id !== summaryId))
    .filter((step) => step.length > 0);
}
