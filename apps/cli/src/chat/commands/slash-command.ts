import type { Clock } from '@millrace/agent';
import type { SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { BuiltAgent, Chosen } from '../../contract/agent.ts';
import type { Config } from '../../contract/config.ts';
import type { Choice } from '../../input/completion/completion.ts';
import type { Block } from '../contract/block.ts';
import type { PickList } from '../contract/dialog.ts';
import type { Conversation } from '../session/conversation.ts';

/** What a command can see and do. */
export interface CommandContext {
  readonly log: Log;
  readonly cwd: string;
  readonly config: Config;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly conversation: Conversation;
  readonly built: BuiltAgent;
  print(...blocks: readonly Block[]): void;
  /** Has the person choose. */
  pick(pick: PickList): void;
  /** Goes to a session, or to a new one. */
  open(session: SessionId | undefined): Promise<void>;
  /** An id that no session has. */
  newSession(): SessionId;
  /** Answers with another model from now on. */
  use(chosen: Chosen): void;
  /** Streams the session once more, so many times as fast. */
  replay(speed: number): void;
  quit(): void;
}

export interface SlashCommand {
  /** With its slash. */
  readonly name: string;
  /** What can follow it, as help shows it. */
  readonly argument?: string | undefined;
  readonly description: string;
  /** It needs a session in which nothing goes on. */
  readonly whenIdle?: boolean | undefined;
  readonly choices?: ((context: CommandContext) => readonly Choice[]) | undefined;
  run(context: CommandContext, argument: string): Promise<void> | void;
}
