import type { Config } from '../contract/config.ts';
import type { LocalServerOptions } from '../models/local-servers.ts';
import type { OutputStream } from '../print/output.ts';
import type { InputStream } from '../print/piped-input.ts';

/** The result of a check. It never contains a key. */
export interface Finding {
  readonly state: 'ok' | 'warn' | 'fail';
  /** The topic of the finding, for example `node` or `store`. */
  readonly about: string;
  readonly text: string;
  /** Tells the user how to fix the problem. Undefined if there is no problem. */
  readonly advice?: string | undefined;
}

/** The data that the checks inspect. Tests pass their own values to simulate a machine. */
export interface CheckContext extends LocalServerOptions {
  /** The configuration. Undefined if it is invalid. */
  readonly config: Config | undefined;
  readonly cwd: string;
  /** The version of Node, without the leading `v`. */
  readonly nodeVersion: string;
  readonly platform: NodeJS.Platform;
  readonly stdin: InputStream;
  readonly stdout: OutputStream & { readonly rows?: number | undefined };
}

/** A function that inspects one topic. */
export type Check = (context: CheckContext) => Promise<readonly Finding[]>;
