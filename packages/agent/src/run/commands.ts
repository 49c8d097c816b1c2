import type { DraftRecord, ToolCallId } from '@millrace/core';
import type { Decision, QueuedCommand } from '../contract/command.ts';
import type { TurnState } from '../contract/loop-state.ts';
import type { RunContext } from '../contract/run-context.ts';
import { abortedBy, answerOf, consumed } from '../state/drafts.ts';
import { openCalls } from '../state/turn-calls.ts';

/** These are dealt with between turns. */
const waits: ReadonlySet<string> = new Set(['message', 'compact']);

/** Hears the commands that cannot wait for the next step: aborts, and decisions on calls. */
export class CommandEar {
  readonly #context: RunContext;
  readonly #abort: () => void;
  /** The commands that were dealt with, and the calls that were decided on. */
  readonly #heard = new Set<string>();
  readonly #decided = new Set<string>();

  constructor(context: RunContext, abort: () => void) {
    this.#context = context;
    this.#abort = abort;
  }

  /** Those that wait now, each once. */
  async hear(): Promise<void> {
    const news = this.#context.journal.loop.commands.filter(
      ({ key, command }) => !waits.has(command.type) && !this.#heard.has(key),
    );
    for (const { key } of news) this.#heard.add(key);
    await Promise.all(
      news.map((queued) => {
        const { key, command } = queued;
        if (command.type === 'abort') return this.#hearAbort(queued);
        if (command.type === 'approve' || command.type === 'deny')
          return this.#hearDecision(key, command);
        if (command.type === 'withdraw') return this.#hearWithdrawal(key, command.key);
        // It counts since it is on the log.
        if (command.type === 'revoke') return this.#write([consumed(key)]);
        this.#context.settings.onDiagnostic(`A command cannot be read, and is dropped: ${key}`);
        return this.#write([consumed(key)]);
      }),
    );
    await this.#answerStanding();
  }

  /** What waits for an answer that was given already, for longer than one call. */
  async #answerStanding(): Promise<void> {
    const { journal, settings, standing } = this.#context;
    const { turn, standing: until } = journal.loop;
    if (turn === undefined || standing.isAborting) return;
    const now = settings.clock.now();
    const waiting = openCalls(journal.state, turn).filter(({ toolCallId }) => {
      const { isAsked = false, answer, rule } = turn.calls.get(toolCallId) ?? {};
      const isOpen = isAsked && answer === undefined && rule !== undefined;
      return isOpen && now < (until.get(rule) ?? 0) && !this.#decided.has(nameOf(turn, toolCallId));
    });
    if (waiting.length === 0) return;
    for (const { toolCallId } of waiting) this.#decided.add(nameOf(turn, toolCallId));
    const allowed = (toolCallId: ToolCallId) => ({ type: 'approve', toolCallId }) as const;
    await this.#write(waiting.map((call) => answerOf(turn, call, allowed(call.toolCallId))));
  }

  /** First on the log, then anywhere else. The first word on how a run ends counts. */
  async #hearAbort(abort: QueuedCommand): Promise<void> {
    const { standing, journal } = this.#context;
    if (standing.isRunEnding || standing.isAborting) return this.#write([consumed(abort.key)]);
    const turn = standing.isTurnEnding ? 0 : (journal.loop.turn?.turn ?? 0);
    standing.isAborting = true;
    try {
      await this.#write(abortedBy(abort, turn));
    } finally {
      this.#abort();
    }
  }

  /** Who sees this end first, and then the message's, knows that nobody has heard the message. */
  #hearWithdrawal(key: string, of: string): Promise<void> {
    const isThere = this.#context.journal.loop.commands.some(
      ({ key: one, command }) => one === of && command.type === 'message',
    );
    return this.#write([consumed(key), ...(isThere ? [consumed(of)] : [])]);
  }

  async #hearDecision(key: string, decision: Decision): Promise<void> {
    const { state, loop } = this.#context.journal;
    const { turn } = loop;
    const { toolCallId } = decision;
    const call = openCalls(state, turn).find((one) => one.toolCallId === toolCallId);
    const name = turn && nameOf(turn, toolCallId);
    const isOpen = turn?.calls.get(toolCallId)?.answer === undefined;
    const isFirst = isOpen && name !== undefined && !this.#decided.has(name);
    const answered = turn && call && isFirst ? [answerOf(turn, call, decision)] : [];
    if (answered.length > 0 && name !== undefined) this.#decided.add(name);
    await this.#write([consumed(key), ...answered]);
  }

  #write(drafts: readonly DraftRecord[]): Promise<void> {
    return this.#context.journal.write(drafts);
  }
}

function nameOf({ turn, attempt }: TurnState, toolCallId: ToolCallId): string {
  return `${turn}.${attempt} ${toolCallId}`;
}
