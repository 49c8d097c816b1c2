import type { DraftRecord, ToolCallId } from '@millrace/core';
import type { Decision, QueuedCommand } from '../contract/command.ts';
import type { TurnState } from '../contract/loop-state.ts';
import type { RunContext } from '../contract/run-context.ts';
import { abortDrafts, approvalAnswered, commandConsumed } from '../state/drafts.ts';
import { standingKey } from '../state/fold-loop.ts';
import { decidableCalls, outputFor, unansweredCalls } from '../state/turn-calls.ts';

/** The command types that the loop handles between turns. */
const handledBetweenTurns: ReadonlySet<string> = new Set(['message', 'compact']);

/**
 * Handles the commands that cannot wait for the next turn: for example aborts, decisions on calls and
 * withdrawals.
 */
export class CommandHandler {
  readonly #context: RunContext;
  readonly #abort: () => void;
  /** The keys of handled commands. `#decided` contains the keys of calls that have a decision. */
  readonly #handled = new Set<string>();
  readonly #decided = new Set<string>();

  constructor(context: RunContext, abort: () => void) {
    this.#context = context;
    this.#abort = abort;
  }

  /**
   * Handles each queued command once. Commands that arrive while the run parks stay in the queue. The next run
   * handles them.
   */
  async handleQueued(): Promise<void> {
    if (this.#context.phase.isParking) return;
    const news = this.#context.journal.loop.commands.filter(
      (queued) =>
        !handledBetweenTurns.has(queued.command.type) &&
        !this.#handled.has(queued.key) &&
        !this.#isForCall(queued),
    );
    for (const { key } of news) this.#handled.add(key);
    await Promise.all(
      news.map((queued) => {
        const { key, command } = queued;
        if (command.type === 'abort') return this.#handleAbort(queued);
        if (command.type === 'approve' || command.type === 'deny')
          return this.#handleDecision(key, command);
        if (command.type === 'withdraw') return this.#handleWithdrawal(key, command.key);
        if (command.type === 'unknown' || command.type === 'unreadable')
          return this.#refuse(key, command);
        // The others are only removed from the queue: an output whose call has an output already, or does not
        // exist, and a revoke or a label, which takes effect when its record is on the log.
        return this.#write([commandConsumed(key)]);
      }),
    );
    await this.#applyStandingApprovals();
  }

  /**
   * Returns true if the command is the first output for an unanswered call. The code that runs the call
   * consumes that command.
   */
  #isForCall({ key, command }: QueuedCommand): boolean {
    if (command.type !== 'tool_output') return false;
    const { state, loop } = this.#context.journal;
    const isOpen = unansweredCalls(state, loop.turn).some(
      ({ toolCallId }) => toolCallId === command.toolCallId,
    );
    return isOpen && outputFor(loop, command.toolCallId)?.key === key;
  }

  /**
   * Consumes a command that this version cannot handle. Otherwise it would stay in the queue forever. The log
   * gets the reason.
   */
  async #refuse(key: string, command: QueuedCommand['command']): Promise<void> {
    const [code, why] =
      command.type === 'unknown'
        ? ['unknown_command', await unknownTypeText(command.given)]
        : ['bad_command', 'it cannot be decoded, or it is too large'];
    const message = `Cannot handle command ${key}: ${why}`;
    this.#context.settings.onDiagnostic(message);
    await this.#write([commandConsumed(key, { code, message })]);
  }

  /** Allows waiting calls to which a standing approval applies. */
  async #applyStandingApprovals(): Promise<void> {
    const { journal, settings, phase } = this.#context;
    const { turn, standingApprovals } = journal.loop;
    const untilOf = (rule: string, askedBy: readonly string[]) =>
      standingApprovals.get(standingKey(journal.loop, rule, askedBy)) ?? 0;
    if (turn === undefined || phase.isAborting) return;
    const now = settings.clock.now();
    const waiting = decidableCalls(journal.state, turn).filter(({ toolCallId }) => {
      const { isAsked = false, answer, rule, askedBy = [] } = turn.calls.get(toolCallId) ?? {};
      const isOpen = isAsked && answer === undefined && rule !== undefined;
      return (
        isOpen && now < untilOf(rule, askedBy) && !this.#decided.has(callKey(turn, toolCallId))
      );
    });
    if (waiting.length === 0) return;
    for (const { toolCallId } of waiting) this.#decided.add(callKey(turn, toolCallId));
    const allowed = (toolCallId: ToolCallId) => ({ type: 'approve', toolCallId }) as const;
    await this.#write(
      waiting.map((call) => approvalAnswered(turn, call, allowed(call.toolCallId))),
    );
  }

  /**
   * Writes the abort to the log before any work stops. If two decisions would end the run, the first decision
   * takes effect.
   */
  async #handleAbort(abort: QueuedCommand): Promise<void> {
    const { phase, journal } = this.#context;
    const isOver = phase.isRunEnding || phase.isAborting || journal.loop.run?.aborted !== undefined;
    if (isOver) return this.#write([commandConsumed(abort.key)]);
    const turn = phase.isTurnEnding ? 0 : (journal.loop.turn?.turn ?? 0);
    phase.isAborting = true;
    try {
      await this.#write(abortDrafts(abort, turn));
    } finally {
      this.#abort();
    }
  }

  /**
   * Consumes the withdrawal before it consumes the message. This order on the log shows that the message was
   * never used.
   */
  #handleWithdrawal(key: string, of: string): Promise<void> {
    const isThere = this.#context.journal.loop.commands.some(
      ({ key: one, command }) => one === of && command.type === 'message',
    );
    return this.#write([commandConsumed(key), ...(isThere ? [commandConsumed(of)] : [])]);
  }

  async #handleDecision(key: string, decision: Decision): Promise<void> {
    const { state, loop } = this.#context.journal;
    const { turn } = loop;
    const { toolCallId } = decision;
    const call = decidableCalls(state, turn).find((one) => one.toolCallId === toolCallId);
    const name = turn && callKey(turn, toolCallId);
    const isOpen = turn?.calls.get(toolCallId)?.answer === undefined;
    const isFirst = isOpen && name !== undefined && !this.#decided.has(name);
    if (turn === undefined || call === undefined || name === undefined || !isFirst)
      return this.#refuseDecision(key, toolCallId);
    this.#decided.add(name);
    await this.#write([commandConsumed(key), approvalAnswered(turn, call, decision)]);
  }

  /** Consumes a decision that has no effect. The code that finds the reason loads on demand. */
  async #refuseDecision(key: string, toolCallId: ToolCallId): Promise<void> {
    const { journal, session } = this.#context;
    const { answer } = journal.loop.turn?.calls.get(toolCallId) ?? {};
    const { decisionError } = await import('../input/submit-command.ts');
    const { code, message } = decisionError(session, toolCallId, answer);
    await this.#write([commandConsumed(key, { code, message })]);
  }

  #write(drafts: readonly DraftRecord[]): Promise<void> {
    return this.#context.journal.write(drafts);
  }
}

function callKey({ turn, attempt }: TurnState, toolCallId: ToolCallId): string {
  return `${turn}.${attempt} ${toolCallId}`;
}

/**
 * Returns the error text for an unknown command type. The code loads on demand, because such commands are
 * rare.
 */
async function unknownTypeText(given: unknown): Promise<string> {
  const { unknownCommandText } = await import('../input/submit-command.ts');
  return `${unknownCommandText(given)}. Use submitCommand, which checks commands`;
}
