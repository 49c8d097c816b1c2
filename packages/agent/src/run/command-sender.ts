import type { RunId, SessionId, TraceContext } from '@millrace/core';
import { halted, raceAbort } from '../abortable.ts';
import type { Command, Decision } from '../contract/command.ts';
import type {
  ApproveOptions,
  ClientToolResult,
  DenyOptions,
  InputOfCall,
  Run,
  RunInput,
} from '../contract/run.ts';
import type { Settings } from '../contract/settings.ts';
import type { Tool } from '../contract/tool.ts';
import type { PendingApproval, PendingToolCall } from '../contract/typed-tools.ts';
import { toItems } from '../input/run-input.ts';
import type { SessionJournal } from '../session/journal.ts';
import { encodeCommand } from '../state/commands.ts';
import { runOver } from './run-errors.ts';

interface CommandSenderOptions {
  readonly settings: Settings;
  readonly session: SessionId;
  readonly trace: TraceContext | undefined;
  /** Resolves when the session is open. Rejects if it cannot be opened. */
  readonly opened: Promise<{ readonly journal: SessionJournal }>;
  readonly runId: () => RunId;
  /** Returns the tools that the agent currently has. */
  readonly tools: () => ReadonlyMap<string, Tool>;
  /** Aborts when the run stops. */
  readonly stopped: AbortSignal;
}

type RunCommands = Pick<
  Run,
  'abort' | 'steer' | 'followUp' | 'compact' | 'approve' | 'deny' | 'provideToolResult'
>;

/**
 * Sends the commands of the program that started the run. They go through the log, like commands of other
 * processes. The run does not park or end before all of them are on the log.
 */
export class CommandSender implements RunCommands {
  readonly #options: CommandSenderOptions;
  /** The commands that are being submitted. */
  readonly #submits = new Set<Promise<unknown>>();
  #submitted = 0;
  #isClosed = false;

  constructor(options: CommandSenderOptions) {
    this.#options = options;
  }

  /** Refuses all later commands. Called when the run has ended. */
  close(): void {
    this.#isClosed = true;
  }

  abort(reason?: string): Promise<void> {
    return this.#track(this.#abort(reason));
  }

  async #abort(reason: string | undefined): Promise<void> {
    // A run that has ended, or that never started, needs no abort.
    const isGoingOn = await this.#options.opened.then(
      () => !this.#isClosed,
      () => false,
    );
    if (isGoingOn) await this.submit({ type: 'abort', reason });
  }

  steer(input: RunInput): Promise<void> {
    return this.#track(this.#send(input, 'steer'));
  }

  followUp(input: RunInput): Promise<void> {
    return this.#track(this.#send(input, 'follow_up'));
  }

  async #send(input: RunInput, when: 'steer' | 'follow_up'): Promise<void> {
    const { settings, trace } = this.#options;
    const items = toItems(input, settings.ids);
    await this.submit({ type: 'message', when, items, trace });
  }

  compact(): Promise<void> {
    return this.#track(this.submit({ type: 'compact' }));
  }

  approve<const Call extends string | PendingApproval>(
    call: Call,
    options: ApproveOptions<InputOfCall<Call>> = {},
  ): Promise<void> {
    return this.#track(this.#decide(({ approveCommand }) => approveCommand(call, options)));
  }

  deny(call: string | PendingApproval, options: DenyOptions = {}): Promise<void> {
    return this.#track(this.#decide(({ denyCommand }) => denyCommand(call, options)));
  }

  provideToolResult(
    call: string | PendingToolCall,
    result: ClientToolResult<unknown>,
  ): Promise<void> {
    return this.#track(this.#provide(call, result));
  }

  /**
   * Submits the output of a tool that a client runs. It uses the same function as other processes do, so it
   * refuses a second output for the same call.
   */
  async #provide(call: string | PendingToolCall, result: ClientToolResult<unknown>): Promise<void> {
    const { toolOutputCommand } = await import('../input/submit-command.ts');
    const { submitToolResult } = await import('../input/tool-results.ts');
    const command = toolOutputCommand(call, result);
    const { settings, session, opened, tools } = this.#options;
    const { journal } = await opened;
    await submitToolResult(settings.log, session, { command, tools: tools() });
    if (!this.#isClosed) journal.write([]).catch(() => {});
  }

  /** Submits a decision on a call. The code loads on demand, because many runs have no approvals. */
  async #decide(
    decisionOf: (code: typeof import('../input/submit-command.ts')) => Decision,
  ): Promise<void> {
    const code = await import('../input/submit-command.ts');
    const decision = decisionOf(code);
    const { settings, session, opened, runId, stopped, tools } = this.#options;
    const { journal } = await opened;
    if (!this.#isClosed) await code.assertDecidable(settings.log, session, decision, journal);
    const checked = code.assertInputFits(decision, journal.state.asked, tools());
    if ((await raceAbort(checked, stopped)) === halted) throw runOver(session, runId());
    await this.submit(decision);
  }

  /**
   * Registers a command immediately when its method is called. The run therefore does not park or end before
   * the command is on the log.
   */
  #track(submitted: Promise<void>): Promise<void> {
    this.#submitted += 1;
    this.#submits.add(submitted);
    const forget = () => this.#submits.delete(submitted);
    submitted.then(forget, forget);
    return submitted;
  }

  /** Submits a command to the log, in the same way as other processes. The run receives it from the log. */
  async submit(command: Command, key?: string): Promise<void> {
    const { session, settings, opened, runId } = this.#options;
    const { journal } = await opened;
    if (this.#isClosed) throw runOver(session, runId());
    const { log, ids } = settings;
    await log.submit(session, encodeCommand(command), key ?? ids.execution());
    // An empty write fetches the command immediately, without waiting for the next poll.
    if (!this.#isClosed) journal.write([]).catch(() => {});
  }

  /**
   * Waits until all submitted commands are on the log and part of the state. Commands that are submitted
   * during the wait are included.
   */
  async flush(journal: SessionJournal): Promise<void> {
    for (let flushed = -1; flushed !== this.#submitted; ) {
      flushed = this.#submitted;
      await Promise.allSettled(this.#submits);
      await journal.write([]);
    }
  }
}
