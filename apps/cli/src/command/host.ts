/** What a command has of the machine: passed on, so that a test can be the machine. */
export interface Host {
  /** Without Node and the script. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean | undefined };
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean | undefined };
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean | undefined };
  /** Aborted by SIGINT, SIGTERM and a pipe that nobody reads any more. */
  readonly signal: AbortSignal;
}
