import type { Clock } from '@millrace/agent';
import type { Ids, SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import type { BuiltAgent } from '../agent/built-agent.ts';
import type { Config } from '../config/config.ts';
import type { Chosen } from '../models/chosen.ts';
import type { Terminal } from './app/coalesced-output.ts';
import { inProduction } from './in-production.ts';

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

// It takes a while, and whoever imports this will need it.
const loading = inProduction(() => import('./chat-in-terminal.tsx'));
loading.catch(() => {});

/** The chat in a terminal, until it is left. */
export async function runChat(options: RunChatOptions): Promise<number> {
  const { chatInTerminal } = await loading;
  return chatInTerminal(options);
}
