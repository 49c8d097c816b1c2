/** The variables of the process, as they were handed over: nothing here reads them by itself. */
export type Env = Readonly<Record<string, string | undefined>>;

/** What a command has of the machine: passed on, so that a test can be the machine. */
export interface Host {
  /** Without Node and the script. */
  readonly argv: readonly string[];
  readonly env: Env;
  readonly cwd: string;
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean | undefined };
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean | undefined };
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean | undefined };
  /** Aborted by SIGINT, SIGTERM and a pipe that nobody reads any more. */
  readonly signal: AbortSignal;
}
