import type { Clock } from '@millrace/agent';
import type { SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { BuiltAgent, ChosenModel } from '../../contract/agent.ts';
import type { ConfigArgs } from '../../contract/args.ts';
import type { Config, SessionMode } from '../../contract/config.ts';
import type { Choice } from '../../input/completion/completion.ts';
import type { VimKeys } from '../../input/editor/vim-keys.ts';
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
  /** The flags of the command line. */
  readonly flags: ConfigArgs;
  readonly conversation: Conversation;
  readonly built: BuiltAgent;
  print(...blocks: readonly Block[]): void;
  /** Shows a list. The user chooses one item. */
  pick(pick: PickList): void;
  /** Opens a session. If the id is undefined, opens a new session. */
  open(session: SessionId | undefined): Promise<void>;
  /** Returns an id for a new session. */
  newSession(): SessionId;
  /** Puts a text into the prompt. The user can edit and send it. */
  putBack(text: string): void;
  /** Replaces the text of the prompt. */
  setPrompt(text: string): void;
  /** Changes the theme. Returns false if the terminal shows no colors, or if there is no such theme. */
  setTheme(name: string): boolean;
  /** The keys of vi in the prompt. */
  readonly vim: Pick<VimKeys, 'toggle'>;
  /** Sends a text to the clipboard of the terminal. */
  copy(text: string): void;
  /** Opens the editor of the user with the text of the prompt. */
  editPrompt(): Promise<void>;
  /** Changes the mode. It applies to the next call. */
  setMode(mode: SessionMode): void;
  /** Switches the session to a different model. */
  switchModel(chosen: ChosenModel): void;
  /** Replays the session. A `speed` of 2 means twice the original speed. */
  replay(speed: number): void;
  /** Closes the chat. `lastNote` replaces the note about how to resume the session. */
  quit(lastNote?: Block): void;
}

export interface SlashCommand {
  /** Name of the command, with its slash. */
  readonly name: string;
  /** The placeholder for the argument in /help. Undefined if the command has no argument. */
  readonly argument?: string | undefined;
  readonly description: string;
  /** If true, the command is refused while a run is in progress. Default: false. */
  readonly onlyWhenIdle?: boolean | undefined;
  /**
   * True if the command acts outside of the conversation: it changes rights, settings or files, or starts a program. It
   * then runs only if the user typed its first character and pressed Enter alone, so not from a paste. Default: false.
   */
  readonly actsOutside?: boolean | undefined;
  /** True if the command sends a message. The message is shown instead of the command. */
  readonly isMessage?: boolean | undefined;
  /** The shorter name that means the same. Lists then show only that name. Default: none. */
  readonly aliasOf?: string | undefined;
  /** A key that runs the command, such as `alt+o`. Default: none. */
  readonly key?: string | undefined;
  readonly choices?: ((context: CommandContext) => readonly Choice[]) | undefined;
  /** Runs the command. `chosen` is a field of `MessageContent`, for a command that sends a message. */
  run(context: CommandContext, argument: string, chosen?: readonly string[]): Promise<void> | void;
}
