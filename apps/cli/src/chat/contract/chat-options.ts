import type { Clock } from '@millrace/agent';
import type { Ids, SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { BuiltAgent, ChosenModel } from '../../contract/agent.ts';
import type { ConfigArgs } from '../../contract/args.ts';
import type { Config } from '../../contract/config.ts';

export interface RunChatOptions {
  /** The flags of the command line, for a process that continues the session. Default: none. */
  readonly args?: ConfigArgs | undefined;
  readonly config: Config;
  readonly built: BuiltAgent;
  readonly chosen: ChosenModel;
  readonly log: Log;
  /** The id of an existing or a new session. */
  readonly session: SessionId;
  /**
   * If true, the chat starts with a list of the sessions of the folder. If the user chooses none,
   * the chat ends. Default: false.
   */
  readonly picks?: boolean | undefined;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The first message. Default: none. */
  readonly prompt?: string | undefined;
  /** If the signal aborts, the run stops and the chat ends. */
  readonly signal?: AbortSignal | undefined;
  readonly stdin?: NodeJS.ReadableStream | undefined;
  readonly stdout?: Terminal | undefined;
  readonly clock?: Clock | undefined;
  readonly ids?: Ids | undefined;
}

/** The output side of a terminal, as Node provides it. */
export interface Terminal extends NodeJS.WritableStream {
  readonly columns?: number;
  readonly rows?: number;
  readonly isTTY?: boolean;
  /** Reads the size of the terminal, and emits `resize` if it has changed. */
  readonly _refreshSize?: () => void;
}
