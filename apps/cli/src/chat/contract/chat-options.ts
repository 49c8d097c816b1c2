import type { Clock } from '@millrace/agent';
import type { Ids, SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { BuiltAgent, Chosen } from '../../contract/agent.ts';
import type { Config } from '../../contract/config.ts';

/** A terminal to write to, as Node has it. */
export interface Terminal extends NodeJS.WritableStream {
  readonly columns?: number;
  readonly rows?: number;
  readonly isTTY?: boolean;
}

export interface RunChatOptions {
  readonly config: Config;
  readonly built: BuiltAgent;
  readonly chosen: Chosen;
  readonly log: Log;
  /** One that is there, or an id for a new one. */
  readonly session: SessionId;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The first thing to say. */
  readonly prompt?: string | undefined;
  /** Aborted: what goes on is stopped, and the chat left. */
  readonly signal?: AbortSignal | undefined;
  readonly stdin?: NodeJS.ReadableStream | undefined;
  readonly stdout?: Terminal | undefined;
  readonly clock?: Clock | undefined;
  readonly ids?: Ids | undefined;
}
