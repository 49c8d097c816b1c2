import type { AgentEvent, SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { type BackgroundCommand, type LoggedCommand, stoppedByUser } from '@millrace/tools';
import type { BuiltAgent } from '../../contract/agent.ts';
import { oneLine } from '../../text/cells/printable.ts';
import { type Block, note } from '../contract/block.ts';
import type { ChatState } from '../contract/chat-state.ts';

interface CommandEndsOptions {
  readonly log: Log;
  readonly session: SessionId;
  readonly built: () => Pick<BuiltAgent, 'background'>;
  readonly print: (blocks: readonly Block[]) => void;
  /** If true, the end of a background command starts a run while the session is idle. Default: true. */
  readonly wakes?: boolean | undefined;
}

/**
 * Maximum number of runs that background commands start without a message of the user between them. The
 * model could otherwise start commands and runs without end.
 */
const maxWakes = 20;

/** The ends of the background commands of a session, and the decision whether an end starts a run. */
export class CommandEnds {
  readonly #options: CommandEndsOptions;
  /** The number of runs that background commands have started since the last message of the user. */
  #wakes = 0;
  #lost: readonly LoggedCommand[] = [];

  constructor(options: CommandEndsOptions) {
    this.#options = options;
  }

  /** The commands that were lost with an earlier process, and that no run has reported yet. */
  get lost(): readonly LoggedCommand[] {
    return this.#lost;
  }

  /** Finds the commands that were lost with an earlier process. A session without commands is not read. */
  async open({ hasCommands }: Pick<ChatState, 'hasCommands'>): Promise<void> {
    if (!hasCommands) return;
    const { built, log, session } = this.#options;
    this.#lost = (await built().background?.findLost(log, session)) ?? [];
  }

  /** Tells the model about lost commands. Call it before a run starts, so that the run contains the messages. */
  async report(): Promise<void> {
    const { built, log, session } = this.#options;
    const lost = this.#lost;
    this.#lost = [];
    if (lost.length > 0) await built().background?.reportLost(log, session, lost);
  }

  /** Handles an event of the session. */
  handle(event: AgentEvent): void {
    if (event.type === 'item_started' && event.kind === 'user') this.#wakes = 0;
  }

  /**
   * Returns true if a background command of this process has ended, the model does not know it yet, and a run
   * may start because of it. The user knows about a command that the user stopped. If the last run did not end
   * normally, the user decides when the work continues.
   */
  wakes({ queued, isHeld }: Pick<ChatState, 'queued' | 'isHeld'>): boolean {
    const { wakes = true, built, session } = this.#options;
    if (!wakes || isHeld || this.#wakes >= maxWakes) return false;
    const own = built().background?.list(session) ?? [];
    return queued.some(({ ended }) =>
      own.some(({ id, end }) => id === ended?.id && end === ended.end && end !== stoppedByUser),
    );
  }

  /** Counts a run that starts because of a command. */
  countWake(): void {
    this.#wakes++;
  }

  /** Ends the background commands of the session, and prints their names. Returns them. */
  async endAll(): Promise<readonly BackgroundCommand[]> {
    const { built, session, print } = this.#options;
    const ended = (await built().background?.end(session)) ?? [];
    const names = ended.map(({ id, command }) => `${id} (${oneLine(command, 60)})`);
    if (names.length > 0) print([note('mark', `■ ended with the session: ${names.join(', ')}`)]);
    return ended;
  }
}
