import {
  type Attempt,
  type DraftRecord,
  findItem,
  foldBatch,
  type GuardrailFact,
  type Item,
  type ItemId,
  type LogRecord,
  type Part,
  recordVersion,
  toItem,
} from '@millrace/core';
import type { ResponseEnd } from '@millrace/providers';
import type { Guardrail } from '../contract/guardrail.ts';
import type { RunContext } from '../contract/run-context.ts';
import { responseFinished } from '../state/drafts.ts';
import { joinText } from '../views/run-views.ts';
import { checkedOutput, isHalt, partDrafts } from './checked-items.ts';
import {
  changeProblem,
  failed,
  guardrailError,
  judge,
  outputParts,
  type Verdict,
  verdictFact,
} from './judge.ts';

/** Maximum length of an answer that is held back. Text counts in characters and media in bytes. */
const maxHeldLength = 16 * 1024 * 1024;

/**
 * Keeps the output of an attempt in memory until the guardrails with `hold` have passed it. Before that, no
 * viewer sees the output. The summary of a compaction is held back for all output guardrails.
 */
export class HeldOutput {
  readonly #context: RunContext;
  readonly #at: Attempt;
  readonly #itemId: ItemId;
  readonly #isSummary: boolean;
  readonly #drafts: DraftRecord[] = [];
  #length = 0;

  constructor(context: RunContext, { turn, attempt }: Attempt, { itemId, isSummary }: HeldItem) {
    this.#context = context;
    this.#at = { turn, attempt };
    this.#itemId = itemId;
    this.#isSummary = isSummary;
  }

  add(drafts: readonly DraftRecord[]): void {
    for (const draft of drafts) {
      const { delta } = draft;
      const isAppend = delta?.type === 'append_text' || delta?.type === 'append_bytes';
      if (isAppend) this.#length += delta.chunk.length;
      // An answer that is too long is refused when it ends, so its further records are not kept.
      if (this.#length <= maxHeldLength) this.#drafts.push(draft);
    }
  }

  /**
   * Checks the complete answer. Returns the records to write and the end of the response. Returns undefined
   * if the run stops. If a guardrail stops an answer, no part of that answer is on the log.
   */
  async settle(end: ResponseEnd): Promise<Settled | undefined> {
    return this.#isSummary ? this.#settleSummary(end) : this.#settleAnswer(end);
  }

  /**
   * Checks a summary with all output guardrails. Only its text is kept, because the guardrails check nothing else. If
   * one of them does not let it pass, no part of the summary is on the log, and the run goes on without it. The end
   * of the response then names the guardrail.
   */
  async #settleSummary(end: ResponseEnd): Promise<Settled | undefined> {
    const { settings } = this.#context;
    let text = joinText(this.#item().parts);
    for (const guardrail of settings.guardrails.filter(({ on }) => on === 'output')) {
      const parts: readonly Part[] = [{ kind: 'text', text }];
      const item = { id: this.#itemId, kind: 'context', parts } as const;
      // Nobody sees the summary, so the guardrail cannot ask a person about it.
      const verdict = await this.#judge({ ...guardrail, hold: true }, item);
      if (verdict === undefined) return undefined;
      const changed = verdict.verdict === 'change' ? verdict.to : undefined;
      if (typeof changed === 'string') text = changed.toWellFormed();
      else if (verdict.verdict !== 'pass')
        return this.#settled(
          [],
          { ...end, stop: { reason: 'blocked', cause: guardrail.name } },
          [],
        );
    }
    const parts: readonly Part[] = text === '' ? [] : [{ kind: 'text', text }];
    return this.#settled(partDrafts(this.#itemId, parts, this.#at, settings.ids), end, []);
  }

  async #settleAnswer(end: ResponseEnd): Promise<Settled | undefined> {
    const guardrails = this.#context.settings.guardrails.filter(({ hold }) => hold);
    const facts: GuardrailFact[] = [];
    let changed: readonly Part[] | undefined;
    for (const guardrail of guardrails) {
      const item = { ...this.#item(), ...(changed && { parts: changed }) };
      const judged = await this.#judge(guardrail, item);
      if (judged === undefined) return undefined;
      const change = judged.verdict === 'change' ? this.#change(judged.to, item) : {};
      const verdict = change.failure ?? judged;
      changed = change.parts ?? changed;
      const by = guardrail.name;
      facts.push(verdictFact(guardrail, verdict));
      if (verdict.verdict === 'stop')
        return this.#settled([], { ...end, stop: { reason: 'blocked', cause: by } }, facts);
      if (verdict.verdict !== 'error') continue;
      this.#context.phase.cause ??= verdict.cause;
      const error = guardrailError(guardrail, verdict);
      const reported = { ...this.#at, fact: { type: 'error_reported', error } } as const;
      const stop = { reason: 'error', cause: error.code } as const;
      return this.#settled([reported], { ...end, stop }, facts);
    }
    const { ids } = this.#context.settings;
    const parts =
      changed === undefined ? this.#drafts : partDrafts(this.#itemId, changed, this.#at, ids);
    return this.#settled(parts, end, facts);
  }

  async #judge(guardrail: Guardrail, item: Item): Promise<Verdict | undefined> {
    if (this.#length > maxHeldLength) return failed('the answer is too long to hold it back');
    return judge(guardrail, checkedOutput(item), this.#context, this.#at.turn);
  }

  #change(to: unknown, { parts }: Item): Change {
    const isStructured = this.#context.settings.output !== undefined;
    try {
      return { parts: outputParts(to, parts, isStructured) };
    } catch (error) {
      return { failure: failed(changeProblem(error), error) };
    }
  }

  #settled(
    content: readonly DraftRecord[],
    end: ResponseEnd,
    facts: readonly GuardrailFact[],
  ): Settled {
    const { stop, usage, details } = end;
    const last = responseFinished(this.#at, this.#itemId, stop, usage, details);
    const itemId = facts.some(isHalt) ? {} : { itemId: this.#itemId };
    const verdicts = facts.map((fact) => ({ ...this.#at, fact: { ...fact, ...itemId } }));
    return { drafts: [...content, last, ...verdicts], end };
  }

  /**
   * Returns the answer as an item, computed from the held records. The state of the session does not change.
   */
  #item() {
    const { state } = this.#context.journal;
    const records = this.#drafts.map((draft, at): LogRecord => {
      const offset = state.through + 1 + at;
      return { v: recordVersion, offset, time: 0, producer: 'held', ...draft };
    });
    const through = state.through + records.length;
    const folded = foldBatch(state, { after: state.through, through, records });
    const found = findItem(folded.state, this.#itemId);
    const nothing = { id: this.#itemId, kind: 'assistant', parts: [] } as const;
    return found === undefined ? nothing : toItem(found);
  }
}

interface HeldItem {
  readonly itemId: ItemId;
  readonly isSummary: boolean;
}

interface Change {
  readonly parts?: readonly Part[];
  readonly failure?: ReturnType<typeof failed>;
}

interface Settled {
  readonly drafts: readonly DraftRecord[];
  readonly end: ResponseEnd;
}
