import type { Clock } from '@millrace/agent';
import type { SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { BuiltAgent, ChosenModel } from '../../contract/agent.ts';
import type { Config } from '../../contract/config.ts';
import type { Choice } from '../../input/completion/completion.ts';
import type { Block } from '../contract/block.ts';
import type { PickList } from '../contract/dialog.ts';
import type { Conversation } from '../session/conversation.ts';

/** The functions and data that a command can use. */
export interface CommandContext {
  readonly log: Log;
  readonly cwd: string;
  readonly config: Config;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly conversation: Conversation;
  readonly built: BuiltAgent;
  print(...blocks: readonly Block[]): void;
  /** Shows a list from which the user chooses one item. */
  pick(pick: PickList): void;
  /** Opens a session, or a new one if the id is undefined. */
  open(session: SessionId | undefined): Promise<void>;
  /** Returns an id for a new session. */
  newSession(): SessionId;
  /** Puts a text into the prompt, so that the user can change it and send it. */
  putBack(text: string): void;
  /** Uses another model from now on. */
  switchModel(chosen: ChosenModel): void;
  /** Replays the session. `speed` 2 means twice as fast as the session was. */
  replay(speed: number): void;
  quit(): void;
}

export interface SlashCommand {
  /** Name of the command, with its slash. */
  readonly name: string;
  /** The argument, as /help shows it. */
  readonly argument?: string | undefined;
  readonly description: string;
  /** If true, the command is refused during a run. Default: false. */
  readonly onlyWhenIdle?: boolean | undefined;
  readonly choices?: ((context: CommandContext) => readonly Choice[]) | undefined;
  run(context: CommandContext, argument: string): Promise<void> | void;
}
