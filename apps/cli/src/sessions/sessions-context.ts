import type { Clock } from '@millrace/agent';
import type { Log } from '@millrace/log';
import type { SessionsArgs } from '../contract/args.ts';
import type { Output } from '../print/output.ts';
import type { InputStream } from '../print/piped-input.ts';

/** What each action of `millrace sessions` works with. */
export interface SessionsContext {
  readonly args: SessionsArgs;
  readonly log: Log;
  readonly output: Output;
  /** Standard error. */
  readonly notes: Output;
  readonly stdin: InputStream;
  readonly cwd: string;
  readonly signal: AbortSignal;
  readonly clock?: Clock | undefined;
}
