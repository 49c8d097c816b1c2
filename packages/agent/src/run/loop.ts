import {
  type DraftRecord,
  isMillraceError,
  type LogRecord,
  type PartId,
  type SessionId,
  type Stop,
  type ToolCallPart,
} from '@millrace/core';
import { halted, raceAbort } from '../abortable.ts';
import { changedCallId } from '../calls/approvals.ts';
import { CallRunner } from '../calls/call-runner.ts';
import { AgentError } from '../contract/agent-error.ts';
import type { TurnState } from '../contract/loop-state.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { ValidationResult } from '../contract/tool.ts';
import type { Guards } from '../guardrails/guards.ts';
import { commandsOfRun } from '../state/commands.ts';
import { type Action, type DecisionInput, decide } from '../state/decide.ts';
import { commandConsumed, itemDrafts, withFreshIds } from '../state/drafts.ts';
import { callsOfTurn, outputFor, unansweredCalls } from '../state/turn-calls.ts';
import { CommandHandler } from './commands.ts';
import type { Compactor } from './compaction.ts';
import { exceededLimit } from './limits.ts';
import { checkAnswer, repairItem } from './output.ts';
import { TurnRequest } from './request.ts';

const maxRepairs = 2;
/**
 * Maximum number of consecutive actions without a new record. Normally at least every second action writes a
 * record.
 */
const maxIdleSteps = 10;

interface RunLoopOptions {
  /** Stops the requests and tools of the run. */
  readonly abort: () => void;
  /**
   * Resolves when the commands of this process are on the log and part of the state. Default: resolves
   * immediately.
   */
  readonly flushCommands?: (() => Promise<void>) | undefined;
  /** If set, the run takes its messages and then fails with this error. */
  readonly fault?: RunFault | undefined;
}

/** An error of the agents that the run finds at its start, before any turn. */
export interface RunFault {
  readonly error: unknown;
}

/**
 * The loop of a run. It decides the next action, performs it, and repeats until the run is finished or
 * parked.
 */
export class RunLoop {
  readonly #context: RunContext;
  readonly #commands: CommandHandler;
  readonly #request: TurnRequest;
  /**
   * Compacts the context. It loads on demand, if the agent has `compaction` or a `compact` command arrives.
   */
  #compactor: Compactor | undefined;
  /** Runs the guardrails. It loads on demand, if the agent has guardrails. */
  #guards: Guards | undefined;
  readonly #flushCommands: () => Promise<void>;
  readonly #fault: RunFault | undefined;
  #callRunner: CallRunner | undefined;
  #callRunnerKey = '';
  #isDriving = false;
  /** The error to throw instead of performing the next action. `leave` sets it. */
  #leaveReason: Error | undefined;
  /**
   * The number of times that the loop asked the model to answer again because the answer did not match the
   * `output` schema.
   */
  #repairs = 0;
  /** The validated value of the answer. */
  #value: unknown;
  /** The value that user code threw. It ended the run. */
  #cause: unknown;

  constructor(
    context: RunContext,
    { abort, flushCommands = async () => {}, fault }: RunLoopOptions,
  ) {
    this.#context = context;
    this.#fault = fault;
    this.#flushCommands = flushCommands;
    this.#commands = new CommandHandler(context, abort);
    this.#request = new TurnRequest(context);
  }

  get cause(): unknown {
    return this.#cause ?? this.#context.phase.cause;
  }

  get value(): unknown {
    return this.#value;
  }

  async drive(): Promise<Stop> {
    const driven = await this.driveTo(() => false);
    if ('do' in driven) throw stuck(this.#context.session);
    return driven;
  }

  /**
   * Drives the run to its end, or up to an action that a different process performs. Returns the stop of the
   * run, or that action.
   */
  async driveTo(isExternal: (action: Action) => boolean, repairs = 0): Promise<Stop | Action> {
    this.#context.phase.isRunEnding = false;
    this.#context.phase.isParking = false;
    this.#isDriving = true;
    this.#repairs = repairs;
    await this.#commands.handleQueued();
    if (this.#context.settings.compaction !== undefined) await this.#loadCompactor();
    try {
      for (let idle = 0; idle < maxIdleSteps; ) {
        const { journal, phase } = this.#context;
        // The journal accepts no more records, so no further work may start.
        const ended = journal.failure ?? this.#leaveReason;
        if (ended !== undefined) throw ended;
        if (phase.isAborting) await journal.settled();
        const { through } = journal.state;
        const done = await this.#step(isExternal).catch((error: unknown) =>
          this.#endAfterError(error),
        );
        if (done !== undefined) return done;
        idle = journal.state.through === through ? idle + 1 : 0;
      }
      throw stuck(this.#context.session);
    } finally {
      this.#isDriving = false;
    }
  }

  /**
   * Called after each record is committed. Commands that arrive while the loop is not running are handled
   * when the loop starts.
   */
  onRecord({ delta, fact }: LogRecord): void {
    if (!this.#isDriving) return;
    // If handling a command fails because of a write, the error is ignored here. The run's own next write
    // fails too and reports it.
    const isCommand = fact?.type === 'command_queued' || fact?.type === 'approval_asked';
    if (isCommand) this.#commands.handleQueued().catch(() => {});
    if (fact?.type === 'command_queued') this.#callRunner?.wakeClientCalls();
    if (fact?.type === 'approval_answered') {
      this.#callRunner?.wake(fact.toolCallId);
      this.#guards?.wake(fact.toolCallId);
    }
    if (delta?.type === 'commit_part') this.#startCallEarly(delta.partId);
  }

  /**
   * Prevents further actions, so that `drive` rejects with this error. Resolves when the running calls have
   * their results.
   */
  async leave(why: Error): Promise<void> {
    this.#leaveReason = why;
    await this.#callRunner?.settled();
  }

  /** Stops the running tools and waits until they have ended. */
  async halt(): Promise<void> {
    await this.#callRunner?.halt();
  }

  /** Starts a completely received call while the rest of the response still streams. */
  #startCallEarly(partId: PartId): void {
    const { loop, state } = this.#context.journal;
    const { turn } = loop;
    if (turn === undefined || turn.stop !== undefined || turn.isCompaction) return;
    const calls = callsOfTurn(state, turn);
    const index = calls.findIndex(({ id }) => id === partId);
    const call = calls[index];
    if (call === undefined) return;
    const before = calls.slice(0, index).map(({ part }) => part);
    this.#callRunnerFor(turn)
      .startEarly(call.part, before)
      .catch(() => {});
  }

  #decisionInput(): DecisionInput {
    const { loop, state } = this.#context.journal;
    const unanswered = unansweredCalls(state, loop.turn);
    const hasCalls = callsOfTurn(state, loop.turn).length > 0;
    // This check reads the whole transcript, so the limits are checked only between turns.
    const isBetween = loop.turn === undefined;
    const limit = isBetween ? exceededLimit(this.#context) : undefined;
    const guard = loop.turn && this.#guards?.pending(loop.turn, unanswered);
    return {
      loop,
      unanswered,
      hasCalls,
      guard,
      limit,
      isLong: isBetween && this.#compactor?.isDue === true,
    };
  }

  async #loadCompactor(): Promise<Compactor> {
    if (this.#compactor !== undefined) return this.#compactor;
    const { Compactor } = await import('./compaction.ts');
    this.#compactor ??= new Compactor(this.#context);
    return this.#compactor;
  }

  async #loadGuards(): Promise<Guards> {
    if (this.#guards !== undefined) return this.#guards;
    const { Guards } = await import('../guardrails/guards.ts');
    this.#guards ??= new Guards(this.#context);
    return this.#guards;
  }

  /**
   * Determines and performs the next action. Returns the run's stop if this was the last action. An external
   * action is returned without being performed.
   */
  async #step(isExternal: (action: Action) => boolean): Promise<Stop | Action | undefined> {
    if (this.#fault !== undefined) {
      const { failAtStart } = await import('./recovery.ts');
      return failAtStart(this.#context, this.#fault, (when) => this.#takeMessages(when));
    }
    if (this.#context.settings.guardrails.length > 0) await this.#loadGuards();
    const action = decide(this.#decisionInput());
    return isExternal(action) ? action : this.#perform(action);
  }

  /** Performs an action. Returns the run's stop if this was the last action. */
  async #perform(action: Action): Promise<Stop | undefined> {
    switch (action.do) {
      case 'take_messages':
        await this.#takeMessages(action.when);
        return undefined;
      case 'start_turn':
        await this.#write([{ turn: action.turn, attempt: 0, fact: { type: 'turn_started' } }]);
        return undefined;
      case 'compact':
        if (action.keys.length > 0)
          await this.#write(action.keys.map((key) => commandConsumed(key)));
        await (await this.#loadCompactor()).compact(
          action.turn,
          this.#request.provider,
          action.keys.length > 0,
        );
        return undefined;
      case 'guard': {
        const { on, turn, calls } = action;
        if (on === 'tool_call') await this.#loadStepTools(turn);
        const outcome = await (await this.#loadGuards()).check(on, turn, calls);
        if (outcome.type !== 'parked') return undefined;
        if (!(await this.#stillWaits([{ toolCallId: outcome.question }]))) return undefined;
        return this.#finishRun({ reason: 'parked', cause: 'approval' });
      }
      case 'request':
        await this.#makeRequest(action.turn);
        return undefined;
      case 'answer': {
        await this.#loadStepTools(action.turn);
        const answered = await this.#callRunnerFor(action.turn).answer(action.calls);
        if (answered !== 'parked' || !(await this.#stillWaits(action.calls))) return undefined;
        const isAsked = this.#context.journal.state.asked.length > 0;
        return this.#finishRun({ reason: 'parked', cause: isAsked ? 'approval' : 'tool_output' });
      }
      case 'reject':
        if (action.code === 'aborted') await this.#loadStepTools(action.turn).catch(() => {});
        await this.#callRunnerFor(action.turn).reject(action.calls, action.code);
        return undefined;
      case 'finish_turn':
        await this.#finishTurn(action.turn, action.stop);
        return undefined;
      case 'finish_run':
        return this.#conclude(action.stop);
    }
  }

  /** Calls the agent's functions that return tools. This user code must not block an abort. */
  async #loadStepTools({ turn }: TurnState): Promise<void> {
    await raceAbort(this.#context.loadStepTools(turn), this.#context.signal);
  }

  /**
   * Returns true if all calls still wait after the commands that are being submitted have arrived. Without
   * this check, a run could park while a program is submitting an approval.
   */
  async #stillWaits(calls: readonly Pick<ToolCallPart, 'toolCallId'>[]): Promise<boolean> {
    const { journal, phase } = this.#context;
    await this.#flushCommands();
    await this.#commands.handleQueued();
    await journal.settled();
    const decided = calls.some((call) => {
      const known = journal.loop.turn?.calls;
      // A call that the user approved may still wait for a client.
      if (known?.get(call.toolCallId)?.isAwaited)
        return outputFor(journal.loop, call.toolCallId) !== undefined;
      const isChanged = known?.get(call.toolCallId)?.changed !== undefined;
      return known?.get(isChanged ? changedCallId(call) : call.toolCallId)?.answer !== undefined;
    });
    // Commands that arrive from now on stay in the queue.
    phase.isParking = !decided && !phase.isAborting;
    return phase.isParking;
  }

  /** Ends the run after user code threw. The log still works, so the end can be written. */
  async #endAfterError(error: unknown): Promise<Stop | undefined> {
    const { journal } = this.#context;
    const { turn } = journal.loop;
    if (journal.failure !== undefined || turn?.stop !== undefined) throw error;
    this.#cause = error;
    await journal.settled();
    await this.#callRunner?.halt();
    this.#callRunner?.abandon();
    const { failedStop, failureDrafts } = await import('./recovery.ts');
    const known = this.#fault && isMillraceError(error) ? error : undefined;
    await this.#write(failureDrafts(journal, known));
    const stop: Stop = known === undefined ? failedStop : { reason: 'error', cause: known.code };
    return turn === undefined ? this.#finishRun(stop) : undefined;
  }

  async #makeRequest(turn: TurnState): Promise<void> {
    const next = { ...turn, attempt: turn.attempt + 1, toolItemId: undefined };
    const calls = this.#callRunnerFor(next);
    await this.#request.attempt(turn, calls);
    const { turn: now } = this.#context.journal.loop;
    if (now?.stop !== undefined && now.stop.reason !== 'tool_use') await calls.discard();
  }

  async #finishTurn(ending: TurnState, stop: Stop): Promise<void> {
    const { turn, itemId } = ending;
    await this.#callRunnerFor(ending).finish();
    this.#callRunner = undefined;
    this.#callRunnerKey = '';
    const named = itemId === undefined ? {} : { itemId };
    this.#context.phase.isTurnEnding = true;
    await this.#write([{ turn, attempt: 0, fact: { type: 'turn_finished', ...named, stop } }]);
    this.#context.phase.isTurnEnding = false;
  }

  /**
   * Ends the run. If the answer does not match the `output` schema, it first asks the model again, up to a
   * maximum number of times.
   */
  async #conclude(stop: Stop): Promise<Stop | undefined> {
    const { settings, phase } = this.#context;
    const checked = stop.reason === 'stop' ? await this.#checkOutput() : undefined;
    this.#value = checked?.ok ? checked.value : undefined;
    if (checked === undefined || checked.ok || phase.isAborting) return this.#finishRun(stop);
    const { ids } = settings;
    const { problem } = checked;
    if (this.#repairs++ < maxRepairs) {
      await this.#write(itemDrafts([repairItem(ids.item(), problem)], ids));
      return undefined;
    }
    const error = { code: 'invalid_output', message: `The answer does not fit:\n${problem}` };
    await this.#write([{ turn: 0, attempt: 0, fact: { type: 'error_reported', error } }]);
    return this.#finishRun({ reason: 'error', cause: error.code });
  }

  async #checkOutput(): Promise<ValidationResult | undefined> {
    const checked = await raceAbort(checkAnswer(this.#context), this.#context.signal);
    return checked === halted ? undefined : checked;
  }

  async #finishRun(decided: Stop): Promise<Stop> {
    const stop: Stop = this.#context.phase.isAborting ? { reason: 'aborted' } : decided;
    const { run } = this.#context.journal.loop;
    this.#context.phase.isRunEnding = true;
    this.#context.phase.isParking = stop.reason === 'parked';
    if (run !== undefined)
      await this.#write([
        { turn: 0, attempt: 0, fact: { type: 'run_finished', runId: run.id, stop } },
      ]);
    return stop;
  }

  /**
   * Turns queued messages into items. With `steer`, it takes all `steer` messages. With `follow_up`, it takes
   * only the first `follow_up` message.
   */
  async #takeMessages(when: 'steer' | 'follow_up'): Promise<void> {
    const { journal, settings } = this.#context;
    const queued = commandsOfRun(journal.loop).flatMap(({ key, command }) =>
      command.type === 'message' && command.when === when ? [{ key, items: command.items }] : [],
    );
    const taken = when === 'steer' ? queued : queued.slice(0, 1);
    const all = taken.flatMap(({ items }) => items);
    const fresh = [...withFreshIds(all, journal.state, settings.ids)];
    const drafts = taken.map(({ key, items }) => [
      commandConsumed(key),
      ...itemDrafts(fresh.splice(0, items.length), settings.ids),
    ]);
    await this.#write(drafts.flat());
  }

  /** Returns the call runner of an attempt. There is one call runner per attempt. */
  #callRunnerFor({
    turn,
    attempt,
    toolItemId,
  }: Pick<TurnState, 'turn' | 'attempt' | 'toolItemId'>): CallRunner {
    const name = `${turn}.${attempt}`;
    if (this.#callRunner === undefined || this.#callRunnerKey !== name) {
      this.#callRunner = new CallRunner(this.#context, { turn, attempt, toolItemId });
      this.#callRunnerKey = name;
    }
    return this.#callRunner;
  }

  #write(drafts: readonly DraftRecord[]): Promise<void> {
    return this.#context.journal.write(drafts);
  }
}

function stuck(session: SessionId): AgentError {
  const message = `Cannot continue session ${session}: the loop makes no progress. This is a bug; please report it`;
  return new AgentError('stuck', message, { session });
}
