import {
  type Attempt,
  type DraftRecord,
  findItem,
  type GuardrailFact,
  type GuardrailPlace,
  type GuardrailVerdict,
  type Item,
  type ItemId,
  type ItemState,
  noUsage,
  type ToolCallId,
  type ToolCallPart,
  toItem,
} from '@millrace/core';
import { prepareCall } from '../calls/prepare-call.ts';
import { AnswerWaiter, questionId } from '../calls/questions.ts';
import { denialText } from '../calls/tool-result.ts';
import { offeredTools, readContext } from '../context/build-request.ts';
import * as changedItems from '../context/changed-items.ts';
import type { CheckedInput, Guardrail } from '../contract/guardrail.ts';
import { getLayered, type TurnState, verdictKey } from '../contract/loop-state.ts';
import type { RunContext } from '../contract/run-context.ts';
import { nextRound } from '../replay/playback.ts';
import {
  answerRetracted,
  closeClientItems,
  itemDrafts,
  responseFinished,
} from '../state/drafts.ts';
import {
  answerDrafts,
  changedInput,
  changedItem,
  changedResults,
  checkedOutput,
  inputText,
  isCheckedStop,
  isFinal,
  isHalt,
  itemAsRead,
  onlyClientResults,
  openInput,
  openInputs,
  replacementOf,
  resultsReplacement,
  storedChange,
  withWholeResults,
} from './checked-items.ts';
import {
  changeProblem,
  failed,
  guardrailError,
  judge,
  outputParts,
  type Verdict,
  verdictFact,
} from './judge.ts';

/**
 * The outcome of a check. `checked` means that the verdicts are on the log. `left` means that the run stops.
 * `parked` means that a guardrail asks the user, and the run ends instead of waiting for the answer.
 */
export type GuardOutcome =
  | { readonly type: 'checked' }
  | { readonly type: 'left' }
  | { readonly type: 'parked'; readonly question: ToolCallId };

/**
 * Runs the guardrails of an agent, in their order. Each verdict is a fact on the log, so a process that
 * continues the run does not repeat the check.
 */
export class Guards {
  readonly #context: RunContext;
  /** The ids of tool calls with invalid input. The loop rejects these calls, so no guardrail checks them. */
  readonly #unusable = new Set<ToolCallId>();
  readonly #answers: AnswerWaiter;

  constructor(context: RunContext) {
    this.#context = context;
    this.#answers = new AnswerWaiter(context);
  }

  /**
   * Returns the content that guardrails must check before the run continues. Returns undefined if there is
   * none.
   */
  pending(turn: TurnState, unanswered: readonly ToolCallPart[]): GuardrailPlace | undefined {
    if (turn.halt !== undefined || turn.isCompaction) return undefined;
    if (turn.stop === undefined)
      return this.#isStreamedInput() || openInput(this.#context) !== undefined
        ? 'input'
        : undefined;
    if (this.#isOutputOpen(turn)) return 'output';
    const isOpen = unanswered.some((call) => this.#callGuardrails(turn, call).length > 0);
    return turn.stop.reason === 'tool_use' && isOpen ? 'tool_call' : undefined;
  }

  async check(
    on: GuardrailPlace,
    turn: TurnState,
    unanswered: readonly ToolCallPart[],
  ): Promise<GuardOutcome> {
    switch (on) {
      case 'input':
        return this.#checkInput(turn);
      case 'output':
        return this.#checkOutput(turn);
      case 'tool_call':
        return this.#checkCalls(turn, unanswered);
    }
  }

  /** Resumes the check that waits for the answer to this question. */
  wake(question: ToolCallId): void {
    this.#answers.wake(question);
  }

  #guardrails(on: GuardrailPlace): readonly Guardrail[] {
    return this.#context.settings.guardrails.filter((one) => one.on === on);
  }

  /** Returns true if a client still streams an item. After a check, the client could change its text. */
  #isStreamedInput(): boolean {
    const { state } = this.#context.journal;
    return this.#guardrails('input').length > 0 && closeClientItems(state).length > 0;
  }

  async #checkInput({ turn }: TurnState): Promise<GuardOutcome> {
    const closing = closeClientItems(this.#context.journal.state);
    if (closing.length > 0) await this.#write(closing);
    const latest = new LatestItems(this.#context);
    let outcome: GuardOutcome = { type: 'checked' };
    for (const [at, found] of openInputs(this.#context).entries()) {
      // A client can send thousands of inputs at once, and other work must go on.
      if (at % inputsPerRound === inputsPerRound - 1 || latest.wasComputed()) await nextRound();
      outcome = await this.#checkOneInput(found, turn, latest);
      const isHalted = this.#context.journal.loop.turn?.halt !== undefined;
      if (outcome.type !== 'checked' || isHalted) break;
    }
    return outcome;
  }

  async #checkOneInput(found: ItemState, turn: number, latest: LatestItems): Promise<GuardOutcome> {
    const { journal, settings } = this.#context;
    const { replaced } = journal.loop.inputs;
    const original = toItem(found);
    const replacement = getLayered(replaced, found.id);
    const known = replacement && findItem(journal.state, replacement);
    let item = known === undefined ? original : storedChange(original, toItem(known));
    let isChanged = false;
    // An item of a turn was written by the loop. Such an item can also contain results of tools that the agent
    // ran. These results are not inputs, so only results of clients are checked.
    const isOfLoop = found.turn > 0;
    const checkedPart = () => (isOfLoop ? onlyClientResults(item) : item);
    const view = () => itemAsRead(checkedPart());
    const { blobs } = settings.log;
    const textOf = async () =>
      inputText(itemAsRead(await withWholeResults(checkedPart(), blobs)), blobs);
    return this.#apply(this.#guardrails('input'), {
      at: { turn, attempt: 0 },
      itemId: found.id,
      verdictOf: ({ name }) => getLayered(journal.loop.inputs.verdicts, verdictKey(found.id, name)),
      checked: async (): Promise<CheckedInput> => {
        const items = latest.reader();
        // Most guardrails read only the text, and the items of a long session are many.
        return {
          ...{ text: await textOf(), item: view() },
          get items() {
            return items();
          },
        };
      },
      shown: async () => ({ text: await textOf() }),
      change: ({ to, keepsOptions }) => {
        item = isOfLoop ? changedResults(item, to) : changedItem(view(), to, keepsOptions);
        isChanged = true;
      },
      drafts: (facts) => {
        const replace = isOfLoop ? resultsReplacement : replacementOf;
        const fresh = isChanged ? replace(item, settings.ids) : undefined;
        isChanged = false;
        const items = fresh === undefined ? [] : itemDrafts([fresh], settings.ids);
        return [
          ...items,
          ...facts.map((fact): DraftRecord => {
            const replacedBy = fresh && fact.verdict === 'change' ? { replacedBy: fresh.id } : {};
            return { turn, attempt: 0, fact: { ...fact, itemId: found.id, ...replacedBy } };
          }),
        ];
      },
    });
  }

  #isOutputOpen(turn: TurnState): boolean {
    const { stop, itemId, verdicts } = turn;
    if (itemId === undefined || stop === undefined || !isCheckedStop(stop)) return false;
    return this.#guardrails('output').some(({ name }) => !isFinal(verdicts.get(name)));
  }

  async #checkOutput(open: TurnState): Promise<GuardOutcome> {
    const { journal, settings } = this.#context;
    if (journal.loop.run?.aborted !== undefined) {
      // The run ends, so no guardrail checks the answer later.
      await this.#write([answerRetracted(open)]);
      return { type: 'checked' };
    }
    const { turn, itemId, stop } = open;
    const found = itemId && findItem(journal.state, itemId);
    if (!found || stop === undefined) return { type: 'checked' };
    let item = toItem(found);
    const held = this.#guardrails('output').filter(
      ({ name, wasHeld }) => wasHeld && !isFinal(open.verdicts.get(name)),
    );
    if (held.length > 0) return this.#restoreHeld(held, open, item);
    let at = { turn, attempt: open.attempt };
    let isChanged = false;
    return this.#apply(this.#guardrails('output'), {
      get at() {
        return at;
      },
      get itemId() {
        return item.id;
      },
      verdictOf: ({ name }) => journal.loop.turn?.verdicts.get(name),
      checked: async () => checkedOutput(item),
      shown: async () => ({ text: checkedOutput(item).text }),
      change: ({ to }) => {
        const parts = outputParts(to, item.parts, settings.output !== undefined);
        item = { ...item, parts };
        isChanged = true;
      },
      drafts: (facts) => {
        const supersede = answerRetracted(at);
        // The facts are the last records of the write. If the process dies before, the next process checks
        // the answer again.
        if (facts.some(isHalt))
          return [supersede, ...facts.map((fact) => ({ turn, attempt: 0, fact }))];
        if (!isChanged) return facts.map((fact) => ({ ...at, fact: withItem(fact, item) }));
        isChanged = false;
        at = { turn, attempt: at.attempt + 1 };
        item = { ...item, id: settings.ids.item() };
        const earlier = [...(journal.loop.turn?.verdicts ?? [])].filter(
          ([name]) => !facts.some((fact) => fact.name === name),
        );
        const kept = earlier.map(([name, verdict]): GuardrailFact => {
          return { type: 'guardrail_applied', name, on: 'output', verdict };
        });
        const all = [...kept, ...facts];
        return [
          supersede,
          ...answerDrafts(item, at, settings.ids),
          responseFinished(at, item.id, stop, noUsage),
          ...all.map((fact) => ({ ...at, fact: withItem(fact, item) })),
        ];
      },
    });
  }

  /**
   * Writes the verdicts on an answer that was held back. Only a replay calls this method. The recorded answer
   * already contains the changes of the guardrails.
   */
  async #restoreHeld(
    held: readonly Guardrail[],
    { turn, attempt }: TurnState,
    item: Item,
  ): Promise<GuardOutcome> {
    const facts: GuardrailFact[] = [];
    for (const guardrail of held) {
      const verdict = await judge(guardrail, checkedOutput(item), this.#context, turn);
      if (verdict === undefined) return { type: 'left' };
      facts.push(verdictFact(guardrail, verdict));
      if (isHalt({ verdict: verdict.verdict })) break;
    }
    const about = facts.some(isHalt) ? {} : { itemId: item.id };
    await this.#write(facts.map((fact) => ({ turn, attempt, fact: { ...fact, ...about } })));
    return { type: 'checked' };
  }

  /** Returns the guardrails that must check a call and have not checked it yet. */
  #callGuardrails(turn: TurnState, { toolCallId, name }: ToolCallPart): readonly Guardrail[] {
    const { verdicts, execution, isRejected } = turn.calls.get(toolCallId) ?? {};
    if (this.#unusable.has(toolCallId) || execution || isRejected) return [];
    return this.#guardrails('tool_call').filter(
      (one) => (one.tools?.includes(name) ?? true) && verdicts?.get(one.name) === undefined,
    );
  }

  /** Checks all calls before the first call runs. If a guardrail stops the run, no call has run. */
  async #checkCalls(turn: TurnState, calls: readonly ToolCallPart[]): Promise<GuardOutcome> {
    const checks = await Promise.all(calls.map((call) => this.#checkCall(turn, call)));
    if (checks.includes(undefined)) return { type: 'left' };
    const at = { turn: turn.turn, attempt: turn.attempt };
    const verdicts = checks.flatMap((check) => check ?? []);
    await this.#write([
      ...verdicts.flatMap(({ error }) => (error === undefined ? [] : [{ ...at, fact: error }])),
      ...verdicts.map(({ fact }) => ({ ...at, fact })),
    ]);
    return { type: 'checked' };
  }

  async #checkCall(
    turn: TurnState,
    call: ToolCallPart,
  ): Promise<readonly CallVerdict[] | undefined> {
    const { settings } = this.#context;
    const tools = offeredTools(settings.tools, turn.offered);
    const { toolCallId } = call;
    const verdicts: CallVerdict[] = [];
    let input = turn.calls.get(toolCallId)?.changed?.input;
    for (const guardrail of this.#callGuardrails(turn, call)) {
      const ready = await prepareCall(call, tools, input);
      if (!ready.ok) {
        this.#unusable.add(toolCallId);
        return verdicts;
      }
      const judged = await judge(guardrail, ready, this.#context, turn.turn);
      if (judged === undefined) return undefined;
      const changed =
        judged.verdict === 'change'
          ? await changedInput(judged.to, (to) => prepareCall(call, tools, to))
          : {};
      const verdict = changed.problem === undefined ? judged : failed(changed.problem);
      if (changed.input !== undefined) input = changed.input;
      const change = changed.input === undefined ? {} : { input: changed.input };
      const fact = { ...verdictFact(guardrail, verdict), toolCallId, ...change };
      verdicts.push({ fact, error: this.#errorFact(guardrail, verdict) });
      if (isHalt(fact)) return verdicts;
    }
    return verdicts;
  }

  /**
   * Applies guardrails to an item, one after the other. Each guardrail gets the item as the earlier
   * guardrails changed it.
   */
  async #apply(guardrails: readonly Guardrail[], subject: Subject): Promise<GuardOutcome> {
    let facts: GuardrailFact[] = [];
    for (const guardrail of guardrails) {
      const known = subject.verdictOf(guardrail);
      if (isFinal(known)) continue;
      let verdict: Verdict | undefined = { verdict: 'ask' };
      if (known !== 'ask') verdict = await this.#judgeItem(guardrail, subject);
      if (verdict === undefined) return { type: 'left' };
      if (verdict.verdict === 'ask') {
        if (known !== 'ask') facts.push(verdictFact(guardrail, verdict));
        const answer = await this.#ask(guardrail, subject, facts, verdict.reason);
        if ('type' in answer) return answer;
        facts = [];
        verdict = answer;
      }
      facts.push(verdictFact(guardrail, verdict));
      if (verdict.verdict !== 'stop' && verdict.verdict !== 'error') continue;
      const error = this.#errorFact(guardrail, verdict);
      const reported = error === undefined ? [] : [{ ...subject.at, fact: error }];
      await this.#write([...reported, ...subject.drafts(facts)]);
      return { type: 'checked' };
    }
    await this.#write(subject.drafts(facts));
    return { type: 'checked' };
  }

  async #judgeItem(guardrail: Guardrail, subject: Subject): Promise<Verdict | undefined> {
    const { turn } = subject.at;
    let checked: unknown;
    try {
      checked = await subject.checked();
    } catch (error) {
      return failed(changeProblem(error), error);
    }
    const verdict = await judge(guardrail, checked, this.#context, turn);
    if (verdict?.verdict !== 'change') return verdict;
    try {
      subject.change(verdict);
      return verdict;
    } catch (error) {
      return failed(changeProblem(error), error);
    }
  }

  /**
   * Asks the user in the same way as an approval. Every client that supports approvals can therefore answer.
   */
  async #ask(
    { name }: Guardrail,
    subject: Subject,
    facts: readonly GuardrailFact[],
    reason: string | undefined,
  ): Promise<Verdict | GuardOutcome> {
    const { journal, settings, session, signal } = this.#context;
    const written = subject.drafts(facts);
    const { at, itemId } = subject;
    const question = questionId('guardrail', [name, itemId]);
    const stateOf = () => journal.loop.turn?.calls.get(question);
    if (!stateOf()?.isAsked) {
      const why = reason === undefined ? {} : { reason };
      const who = { toolCallId: question, agents: [`guardrail ${name}`], session };
      const from = { ...who, input: await subject.shown(), itemId };
      const fact = { type: 'approval_asked', toolCallId: question, name, ...why, from } as const;
      await this.#write([...written, { ...at, fact }]);
    }
    if (stateOf()?.answer === undefined && settings.whileAsking === 'park')
      return { type: 'parked', question };
    await this.#answers.wait(question, signal);
    const answer = stateOf()?.answer;
    if (answer === undefined) return { type: 'left' };
    if (answer.decision === 'allow') return { verdict: 'pass', reason: 'The user allowed it' };
    return { verdict: 'stop', reason: denialText(answer.reason) };
  }

  /**
   * Returns the fact that reports the failure of a guardrail. It also keeps the thrown value in memory for
   * the result of the run. The log does not store that value.
   */
  #errorFact(guardrail: Guardrail, verdict: Verdict): ErrorFact | undefined {
    if (verdict.verdict !== 'error') return undefined;
    this.#context.phase.cause ??= verdict.cause;
    return { type: 'error_reported', error: guardrailError(guardrail, verdict) };
  }

  async #write(drafts: readonly DraftRecord[]): Promise<void> {
    if (drafts.length > 0) await this.#context.journal.write(drafts);
  }
}

type ErrorFact = Extract<NonNullable<DraftRecord['fact']>, { readonly type: 'error_reported' }>;

/** Number of inputs that are checked in one round of the event loop. */
const inputsPerRound = 20;

/** Computes the context items when a guardrail reads them, and again only after a guardrail changed one. */
class LatestItems {
  readonly #context: RunContext;
  #known: readonly Item[] | undefined;
  #changes: unknown[] = [];
  #wasComputed = false;

  constructor(context: RunContext) {
    this.#context = context;
  }

  /** Returns true if the items were computed after the last call of this method. */
  wasComputed(): boolean {
    const wasComputed = this.#wasComputed;
    this.#wasComputed = false;
    return wasComputed;
  }

  /** Returns a function that returns the items as they are now, also when it is called later. */
  reader(): () => readonly Item[] {
    const { settings, journal } = this.#context;
    const { state, loop } = journal;
    return () => {
      const changes = [loop.inputs.replaced, loop.inputs.withheld];
      if (this.#known === undefined || changes.some((one, at) => one !== this.#changes[at])) {
        this.#known = readContext(settings, state, loop, changedItems);
        this.#changes = changes;
        this.#wasComputed = true;
      }
      return this.#known;
    };
  }
}

interface CallVerdict {
  readonly fact: GuardrailFact;
  readonly error: ErrorFact | undefined;
}

/** An item that guardrails check and change. */
interface Subject {
  readonly at: Attempt;
  readonly itemId: ItemId;
  verdictOf(guardrail: Guardrail): GuardrailVerdict | undefined;
  /** Returns the argument for the guardrail's check. */
  checked(): Promise<unknown>;
  /** Returns the text that the question to the user contains. */
  shown(): Promise<{ readonly text: string }>;
  change(verdict: Extract<Verdict, { readonly verdict: 'change' }>): void;
  /** Returns the records for the changes made until now and for these verdicts. */
  drafts(facts: readonly GuardrailFact[]): readonly DraftRecord[];
}

function withItem(fact: GuardrailFact, { id: itemId }: Pick<Item, 'id'>): GuardrailFact {
  return { ...fact, itemId };
}
