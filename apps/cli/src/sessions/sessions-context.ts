import type { Clock } from '@millrace/agent';
import type { Log } from '@millrace/log';
import type { SessionsArgs } from '../contract/args.ts';
import type { Env } from '../contract/host.ts';
import type { Output } from '../print/output.ts';
import type { InputStream } from '../print/piped-input.ts';
import type { SessionNames } from '../store/session-names.ts';

/** The values that each action of `millrace sessions` uses. */
export interface SessionsContext {
  readonly args: SessionsArgs;
  readonly log: Log;
  /** The names that the user gave to sessions with `/name`. */
  readonly names: SessionNames;
  readonly output: Output;
  /** Writes to standard error. */
  readonly notes: Output;
  readonly stdin: InputStream;
  readonly cwd: string;
  readonly env: Env;
  /** The folder of the built web page. Default: that of this program. */
  readonly page?: string | undefined;
  readonly signal: AbortSignal;
  readonly clock?: Clock | undefined;
}
