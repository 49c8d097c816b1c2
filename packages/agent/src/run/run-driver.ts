import {
  type DraftRecord,
  findItem,
  type Item,
  type LogRecord,
  type Part,
  type Stop,
  type ToolCallPart,
  transcript,
} from '@millrace/core';
import { CallRunner } from '../calls/call-runner.ts';
import type { Command } from '../loop/command.ts';
import { decide, type Step } from '../loop/decide.ts';
import type { TurnState } from '../loop/loop-state.ts';
import { compact } from './compact.ts';
import type { RunContext } from './context.ts';
import { itemDrafts } from './item-drafts.ts';
import { repeats } from './repeats.ts';
import { TurnRequest } from './request-turn.ts';
import { usageSince } from './usage-since.ts';

/** Does what is decided, step by step, until the run is finished or parked. */
export class RunDriver {
  readonly #context: RunContext;
  readonly #abort: () => void;
  /** The commands that were dealt with. */
  readonly #heard: Set<string>;
  #request: TurnRequest;
  #calls: CallRunner | undefined;
  #callsOf = '';
  /** What is said already, though nobody was told yet. */
  #isAborting = false;
  #isTurnEnding = false;
  #isRunEnding = false;
  /** There is nothing to make shorter, or it did not work: not in this run. */
  #cannotCompact = false;

  constructor(context: RunContext, abort: () => void) {
    this.#context = context;
    // An abort that waits from before meant a run that is over.
    const stale = context.journal.loop.commands.filter(({ command }) => command.type === 'abort');
    this.#heard = new Set(stale.map(({ key }) => key));
    this.#abort = abort;
    this.#request = new TurnRequest(context);
  }

  async drive(): Promise<Stop> {
    this.#isRunEnding = false;
    await Promise.all(this.#hearCommands());
    for (;;) {
      const stop = await this.#do(decide(this.#situation()));
      if (stop !== undefined) return stop;
    }
  }

  /** Hears of each record when it is committed. */
  hear({ delta, fact }: LogRecord): void {
    // Where it cannot be written down, the run's own next word cannot either.
    if (fact?.type === 'command_queued') Promise.all(this.#hearCommands()).catch(() => {});
    if (fact?.type === 'approval_answered') this.#calls?.wake(fact.toolCallId);
    if (delta?.type === 'commit_part') this.#considerCall(delta.partId);
  }

  /** What cannot wait for the next step. Also for those that were queued while nobody drove. */
  #hearCommands(): readonly Promise<void>[] {
    const { commands } = this.#context.journal.loop;
    const news = commands.filter(
      ({ key, command }) => command.type !== 'message' && !this.#heard.has(key),
    );
    for (const { key } of news) this.#heard.add(key);
    return news.map(({ key, command }) =>
      command.type === 'abort'
        ? this.#hearAbort(key, command.reason)
        : this.#hearDecision(key, command),
    );
  }

  /** First on the log, then anywhere else. The first word on how a run ends counts. */
  async #hearAbort(key: string, reason: string | undefined): Promise<void> {
    const turn = this.#isTurnEnding ? 0 : (this.#context.journal.loop.turn?.turn ?? 0);
    const at = { turn, attempt: 0 };
    const aborted = { type: 'aborted', ...(reason !== undefined && { reason }) } as const;
    const consumed: DraftRecord = { ...at, fact: { type: 'command_consumed', key } };
    if (this.#isRunEnding) return this.#write([consumed]);
    this.#isAborting = true;
    try {
      await this.#write([consumed, { ...at, fact: aborted }]);
    } finally {
      this.#abort();
    }
  }

  async #hearDecision(key: string, command: Command): Promise<void> {
    if (command.type !== 'approve' && command.type !== 'deny') return;
    const { turn } = this.#context.journal.loop;
    const call = this.#unanswered(turn).find(({ toolCallId }) => toolCallId === command.toolCallId);
    const known = turn?.calls.get(command.toolCallId);
    const consumed: DraftRecord = { turn: 0, attempt: 0, fact: { type: 'command_consumed', key } };
    const isOpen = turn !== undefined && call !== undefined && known?.answer === undefined;
    const answered = isOpen ? [answerOf(turn, call, command)] : [];
    await this.#write([consumed, ...answered]);
  }

  /** A call that is whole may start before the model has said all. */
  #considerCall(partId: string): void {
    const { turn } = this.#context.journal.loop;
    if (turn === undefined || turn.stop !== undefined || turn.itemId === undefined) return;
    const calls = callsOf(findItem(this.#context.journal.state, turn.itemId)?.parts ?? []);
    const index = calls.findIndex(({ id }) => id === partId);
    const call = calls[index];
    if (call === undefined) return;
    const before = calls.slice(0, index).map(({ part }) => part);
    this.#callsFor(turn)
      .speculate(call.part, before)
      .catch(() => {});
  }

  #situation() {
    const { loop } = this.#context.journal;
    const unanswered = this.#unanswered(loop.turn);
    // Only between turns is anything stopped for it, and to tell means to read the transcript.
    const limit = loop.turn === undefined ? this.#limit() : undefined;
    return { loop, unanswered, limit, isLong: this.#isLong() };
  }

  #isLong(): boolean {
    const { compaction } = this.#context.settings;
    if (compaction === undefined || this.#cannotCompact) return false;
    return this.#context.journal.loop.lastTokens >= compaction.whenTokens;
  }

  async #compact(turn: number): Promise<boolean> {
    const { compaction } = this.#context.settings;
    return compaction !== undefined && compact(this.#context, turn, compaction);
  }

  #unanswered(turn: TurnState | undefined): readonly ToolCallPart[] {
    if (turn?.itemId === undefined || turn.stop === undefined) return [];
    const { state } = this.#context.journal;
    const calls = callsOf(findItem(state, turn.itemId)?.parts ?? []).map(({ part }) => part);
    const results =
      turn.toolItemId === undefined ? [] : (findItem(state, turn.toolItemId)?.parts ?? []);
    const answered = new Set(
      results.flatMap(({ part }) => (part?.kind === 'tool_result' ? part.toolCallId : [])),
    );
    return calls.filter(({ toolCallId }) => !answered.has(toolCallId));
  }

  #limit(): string | undefined {
    const { settings, journal } = this.#context;
    const { maxTurns, maxTokens, maxRepeats } = settings.limits;
    if ((journal.loop.run?.turns ?? 0) >= maxTurns) return `${maxTurns} turns`;
    const { input, output } = usageSince(journal.state, this.#context.before);
    if (input + output >= maxTokens) return `${maxTokens} tokens`;
    if (repeats(transcript(journal.state)) >= maxRepeats)
      return `the same call ${maxRepeats} times`;
    return undefined;
  }

  /** The run's stop, where this was its last step. */
  async #do(step: Step): Promise<Stop | undefined> {
    switch (step.do) {
      case 'take_messages':
        await this.#takeMessages(step.when);
        return undefined;
      case 'start_turn':
        this.#request = new TurnRequest(this.#context);
        await this.#write([{ turn: step.turn, attempt: 0, fact: { type: 'turn_started' } }]);
        return undefined;
      case 'compact':
        this.#cannotCompact = !(await this.#compact(step.turn));
        return undefined;
      case 'request':
        await this.#doRequest(step.turn);
        return undefined;
      case 'answer': {
        const answered = await this.#callsFor(step.turn).answer(step.calls);
        return answered === 'parked'
          ? this.#finishRun({ reason: 'parked', cause: 'approval' })
          : undefined;
      }
      case 'reject':
        await this.#callsFor(step.turn).reject(step.calls, step.code);
        return undefined;
      case 'finish_turn':
        await this.#finishTurn(step.turn, step.stop);
        return undefined;
      case 'finish_run':
        return this.#finishRun(step.stop);
    }
  }

  async #doRequest(turn: TurnState): Promise<void> {
    const next = { ...turn, attempt: turn.attempt + 1, toolItemId: undefined };
    const calls = this.#callsFor(next);
    await this.#request.attempt(turn, calls);
    const { turn: now } = this.#context.journal.loop;
    if (now?.stop !== undefined && now.stop.reason !== 'tool_use') await calls.discard();
  }

  async #finishTurn({ turn, itemId }: TurnState, stop: Stop): Promise<void> {
    await this.#calls?.finish();
    this.#calls = undefined;
    this.#callsOf = '';
    const named = itemId === undefined ? {} : { itemId };
    this.#isTurnEnding = true;
    await this.#write([{ turn, attempt: 0, fact: { type: 'turn_finished', ...named, stop } }]);
    this.#isTurnEnding = false;
  }

  async #finishRun(decided: Stop): Promise<Stop> {
    const stop: Stop = this.#isAborting ? { reason: 'aborted' } : decided;
    const { run } = this.#context.journal.loop;
    this.#isRunEnding = true;
    if (run !== undefined)
      await this.#write([
        { turn: 0, attempt: 0, fact: { type: 'run_finished', runId: run.id, stop } },
      ]);
    return stop;
  }

  /** Everything that steers at once; of what follows, the first. */
  async #takeMessages(when: 'steer' | 'follow_up'): Promise<void> {
    const { journal, settings } = this.#context;
    const queued = journal.loop.commands.filter(
      ({ command }) => command.type === 'message' && command.when === when,
    );
    const taken = when === 'steer' ? queued : queued.slice(0, 1);
    const drafts = taken.flatMap(({ key, command }): readonly DraftRecord[] => {
      const items: readonly Item[] = command.type === 'message' ? command.items : [];
      const consumed: DraftRecord = {
        turn: 0,
        attempt: 0,
        fact: { type: 'command_consumed', key },
      };
      return [consumed, ...itemDrafts(items, settings.ids)];
    });
    await this.#write(drafts);
  }

  /** One for each attempt. */
  #callsFor({
    turn,
    attempt,
    toolItemId,
  }: Pick<TurnState, 'turn' | 'attempt' | 'toolItemId'>): CallRunner {
    const name = `${turn}.${attempt}`;
    if (this.#calls === undefined || this.#callsOf !== name) {
      this.#calls = new CallRunner(this.#context, { turn, attempt, toolItemId });
      this.#callsOf = name;
    }
    return this.#calls;
  }

  #write(drafts: readonly DraftRecord[]): Promise<void> {
    return this.#context.journal.write(drafts);
  }
}

function callsOf(slots: readonly { readonly id: string; readonly part: Part | undefined }[]) {
  return slots.flatMap(({ id, part }) => (part?.kind === 'tool_call' ? [{ id, part }] : []));
}

function answerOf(
  { turn, attempt }: TurnState,
  { toolCallId, name }: ToolCallPart,
  command: Extract<Command, { type: 'approve' | 'deny' }>,
): DraftRecord {
  const by = command.by === undefined ? {} : { by: command.by };
  const about = { type: 'approval_answered', toolCallId, name, ...by } as const;
  if (command.type === 'deny') {
    const reason = command.reason === undefined ? {} : { reason: command.reason };
    return { turn, attempt, fact: { ...about, decision: 'deny', ...reason } };
  }
  const input = command.input === undefined ? {} : { input: command.input };
  return { turn, attempt, fact: { ...about, decision: 'allow', ...input } };
}
