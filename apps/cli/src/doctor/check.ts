import type { Config } from '../contract/config.ts';
import type { LocalServerOptions } from '../models/local-servers.ts';
import type { OutputStream } from '../print/output.ts';
import type { InputStream } from '../print/piped-input.ts';

/** What a check found. No key is ever in it. */
export interface Finding {
  readonly state: 'ok' | 'warn' | 'fail';
  /** What was looked at: `node`, `store` … */
  readonly about: string;
  readonly text: string;
  /** What to do about it. */
  readonly advice?: string | undefined;
}

/** What there is to look at. All of it is handed over, so that a test can be the machine. */
export interface CheckContext extends LocalServerOptions {
  /** As it could be loaded; without one, what comes without any configuration. */
  readonly config: Config | undefined;
  readonly cwd: string;
  /** Without the `v`. */
  readonly nodeVersion: string;
  readonly platform: NodeJS.Platform;
  readonly stdin: InputStream;
  readonly stdout: OutputStream & { readonly rows?: number | undefined };
}

/** One thing to look at. */
export type Check = (context: CheckContext) => Promise<readonly Finding[]>;
