import type { Clock } from '@millrace/agent';
import type { Log } from '@millrace/log';
import type { SessionsArgs } from '../contract/args.ts';
import type { Output } from '../print/output.ts';
import type { InputStream } from '../print/piped-input.ts';

/** The values that each action of `millrace sessions` uses. */
export interface SessionsContext {
  readonly args: SessionsArgs;
  readonly log: Log;
  readonly output: Output;
  /** Writes to standard error. */
  readonly notes: Output;
  readonly stdin: InputStream;
  readonly cwd: string;
  readonly signal: AbortSignal;
  readonly clock?: Clock | undefined;
}
