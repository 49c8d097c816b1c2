import {
  type Attempt,
  type DraftRecord,
  findItem,
  type Item,
  itemId,
  type PartId,
  type Stop,
  transcript,
} from '@millrace/core';
import type { Provider } from '@millrace/providers';
import { halted, raceAbort } from '../abortable.ts';
import { asChecked, changedContext, summaryPrompt, withBytes } from '../context/changed-items.ts';
import { clipItem, clipText, fairShare, itemLength } from '../context/clip-item.ts';
import { type ContextPlan, contextLength, planCompaction } from '../context/fit-context.ts';
import { summaryId } from '../contract/loop-state.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { Compaction } from '../contract/settings.ts';
import { openInputs } from '../guardrails/checked-items.ts';
import { responseFinished } from '../state/drafts.ts';
import { isOverflow } from '../state/fold-loop.ts';
import { joinText } from '../views/run-views.ts';
import { runAttempt } from './stream-response.ts';

/** Detects when the context is too long, and compacts it. */
export class Compactor {
  readonly #context: RunContext;
  /** The number of turns that the run must have before the next compaction. A failed compaction raises it. */
  #earliestTurn = 0;

  constructor(context: RunContext) {
    this.#context = context;
  }

  /**
   * True if a compaction is due. Normally the context must be long and contain enough old steps, because a
   * summary in every turn would cost more than it saves. After an overflow, a compaction is due if it can
   * make the context shorter.
   */
  get isDue(): boolean {
    const { settings, journal } = this.#context;
    const { compaction } = settings;
    const { loop } = journal;
    if (compaction === undefined || (loop.run?.turns ?? 0) < this.#earliestTurn) return false;
    if (loop.lastTokens === Number.POSITIVE_INFINITY) {
      const items = currentContext(this.#context);
      return isShorter(planAfterOverflow(items, compaction), items);
    }
    // The length of the last request is the basis. If there is no such request, for example after a
    // compaction, no compaction is due.
    if (loop.lastTokens === 0) return false;
    const items = currentContext(this.#context);
    if (loop.lastTokens + tokensSinceAnswer(items) < compaction.whenTokens) return false;
    const { steps } = planOfOldSteps(items, compaction);
    return steps >= (loop.compacted.summary === undefined ? 1 : compaction.keepSteps);
  }

  /**
   * Compacts the context. `isAsked` is true if a command requests the compaction. In this case, the length of
   * the context does not matter.
   */
  async compact(turn: number, provider: Provider | undefined, isAsked: boolean): Promise<void> {
    const { settings, journal } = this.#context;
    const { compaction = commandDefaults } = settings;
    const keepSteps = isAsked
      ? Math.min(compaction.keepSteps, commandDefaults.keepSteps)
      : compaction.keepSteps;
    const isDone = await compact(this.#context, turn, { ...compaction, keepSteps }, provider).catch(
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
/** The compaction settings for a `compact` command. */
const commandDefaults = { whenTokens: Number.POSITIVE_INFINITY, keepSteps: 2 };

/** The average number of characters per token, for English text and code. */
const charactersPerToken = 4;

/**
 * Returns the items that a summary may cover. Inputs that guardrails have not checked yet are omitted,
 * because no model may read them.
 */
function checkedContext(context: RunContext): readonly Item[] {
  const items = currentContext(context);
  // The context does not contain every input, for example none without parts.
  const open = new Set(openInputs(context).map(({ id }) => id));
  const end = items.findIndex(({ id }) => open.has(id));
  return end === -1 ? items : items.slice(0, end);
}

function currentContext({ journal, settings }: RunContext): readonly Item[] {
  const items = changedContext(transcript(journal.state), journal.loop);
  const isGuarded = settings.guardrails.some(({ on }) => on === 'input');
  return isGuarded ? asChecked(items, journal.state) : items;
}

/** Returns an estimate of the tokens in new inputs and tool results, which no request has contained yet. */
function tokensSinceAnswer(context: readonly Item[]): number {
  const answered = context.findLastIndex(({ kind }) => kind === 'assistant');
  return Math.ceil(contextLength(context.slice(answered + 1)) / charactersPerToken);
}

/** Plans a compaction in which the steps that stay use at most half of `whenTokens`. */
function planOfOldSteps(
  context: readonly Item[],
  { keepSteps, whenTokens }: Compaction,
): ContextPlan {
  const maxLength = (whenTokens * charactersPerToken) / 2;
  return planCompaction(context, { keepSteps, maxLength, clips: false, summaryId });
}

/**
 * Plans a compaction after an overflow. The size of the model's context window is unknown, so the plan halves
 * the context. If it is still too long, the next overflow halves it again.
 */
function planAfterOverflow(
  context: readonly Item[],
  { keepSteps, whenTokens }: Compaction,
): ContextPlan {
  const half = Math.floor(contextLength(context) / 2);
  const maxLength = Math.min(half, (whenTokens * charactersPerToken) / 2);
  return planCompaction(context, { keepSteps, maxLength, clips: true, summaryId });
}

/**
 * Returns true if the plan replaces items by a summary, or makes the context shorter. Any other plan would
 * send the same request, which would overflow again, without end.
 */
function isShorter({ covered, length }: ContextPlan, context: readonly Item[]): boolean {
  return covered.length > 0 || length < contextLength(context);
}

/** Maximum number of attempts to get a summary after an overflow. Each attempt summarizes a shorter text. */
const maxSummaries = 3;

/**
 * Replaces the old steps with a summary that the model writes. Returns false if the context did not become
 * shorter. If the model cannot write a summary after an overflow, a summary without the model is used.
 */
async function compact(
  context: RunContext,
  turn: number,
  compaction: Compaction,
  provider: Provider | undefined,
): Promise<boolean> {
  const { journal, phase } = context;
  const { lastTokens } = journal.loop;
  const isTooLong = lastTokens === Number.POSITIVE_INFINITY;
  const items = checkedContext(context);
  const plan = isTooLong ? planAfterOverflow(items, compaction) : planOfOldSteps(items, compaction);
  const { covered } = plan;
  const isUseful = isTooLong ? isShorter(plan, items) : covered.length > 0;
  if (!isUseful || provider === undefined) return false;
  const kept = compaction.keep?.(items);
  const write = (summary?: string) => journal.write([compacted(plan, withKept(summary, kept))]);
  if (compaction.summarize === false) {
    await write();
    return true;
  }
  const old = items.filter(({ id }) => id === summaryId || covered.includes(id));
  const wholeLength = contextLength(old);
  const prompt = compaction.summarize ?? summaryPrompt;
  let maxLength = isTooLong ? Math.min(wholeLength, contextLength(items) / 2) : wholeLength;
  for (let tries = 0; covered.length > 0 && tries < maxSummaries; tries++, maxLength /= 2) {
    const at = tries === 0 ? turn : journal.loop.lastTurn + 1;
    const outcome = await summarize(context, {
      ...{ turn: at, provider, prompt, items: clipAll(old, maxLength) },
      use: (summary) => {
        const text = isTooLong ? clipText(summary, plan.summaryLength) : summary;
        return compacted(plan, withKept(text, kept));
      },
    });
    if (outcome === 'done') return true;
    if (!isTooLong || outcome === 'failed' || phase.isAborting) return false;
    if (outcome === 'unusable') break;
  }
  await write(clipText(summaryWithoutModel(old, covered.length), plan.summaryLength));
  return true;
}

function compacted({ covered, clipped }: ContextPlan, summary: string | undefined): DraftRecord {
  return {
    turn: 0,
    attempt: 0,
    fact: {
      type: 'compacted',
      itemIds: covered,
      ...(summary !== undefined && { summary }),
      ...(clipped.length > 0 && { clipped }),
    },
  };
}

/** Adds the text of `compaction.keep` to a summary. */
function withKept(summary: string | undefined, kept: string | undefined): string | undefined {
  if (kept === undefined || summary === undefined) return summary ?? kept;
  return `${summary}\n\n${kept}`;
}

function clipAll(items: readonly Item[], maxLength: number): readonly Item[] {
  const most = fairShare(items.map(itemLength), maxLength);
  return items.map((item) => clipItem(item, most)).filter(({ parts }) => parts.length > 0);
}

/**
 * Returns the text that replaces the summary if the model cannot write one. It contains the last request of
 * the user and the earlier summary.
 */
function summaryWithoutModel(old: readonly Item[], dropped: number): string {
  const textOf = (item: Item | undefined) =>
    item === undefined ? '' : joinText(item.parts.map((part) => part));
  const earlier = textOf(old.find(({ id }) => id === summaryId));
  const asked = textOf(old.findLast(({ kind }) => kind === 'user'));
  const note =
    dropped === 0 ? '' : `[${dropped} earlier messages are left out to fit the model's context.]`;
  const request = asked === '' ? '' : `The last of these requests was: ${asked}`;
  return [note, request, earlier].filter((text) => text !== '').join('\n');
}

interface SummaryOptions {
  readonly turn: number;
  readonly provider: Provider;
  readonly prompt: string;
  readonly items: readonly Item[];
  /**
   * Returns the record that puts the summary into effect. The record is committed together with the end of
   * the turn.
   */
  readonly use: (summary: string) => DraftRecord;
}

/** Asks the model for a summary of the items, in a separate turn. */
async function summarize(
  context: RunContext,
  { turn, provider, prompt, items, use }: SummaryOptions,
): Promise<'done' | 'overflow' | 'unusable' | 'failed'> {
  const { journal, settings, phase } = context;
  const at = { turn, attempt: 1 };
  await journal.write([{ turn, attempt: 0, fact: { type: 'turn_started' } }]);
  const work = Promise.all(items.map((item) => withBytes(item, settings.log.blobs)));
  const loaded = await raceAbort(work, context.signal);
  if (loaded === halted || phase.isAborting) {
    const stop = { reason: 'aborted' } as const;
    await journal.write([{ turn, attempt: 0, fact: { type: 'turn_finished', stop } }]);
    return 'failed';
  }
  const promptItem = {
    id: itemId('summarise'),
    kind: 'user',
    parts: [{ kind: 'text', text: prompt }],
  } as const;
  const request = { ...settings.request, items: [...loaded, promptItem] };
  const attempt = await runAttempt(context, { provider, request, kind: 'context', ...at });
  const { error, stop, usage } = attempt.end;
  const reason = context.signal.aborted ? 'aborted' : 'error';
  const failed: Stop | undefined = error && { reason, cause: error.kind };
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
    ...(isDone ? [use(summary)] : []),
  ];
  phase.isTurnEnding = true;
  await journal.write(ended);
  phase.isTurnEnding = false;
  if (isDone) return 'done';
  if (failed === undefined) return 'unusable';
  return isOverflow(failed) ? 'overflow' : 'failed';
}

/**
 * Returns the record that retracts a tool call in a summary. The loop does not run tool calls of summaries.
 */
function retractCall(at: Attempt, partId: PartId): DraftRecord {
  return { ...at, delta: { type: 'retract_part', partId, reason: 'discarded' } };
}
