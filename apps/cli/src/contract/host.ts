/**
 * Environment variables. They are passed in, so that no module reads the process's own environment.
 */
export type Env = Readonly<Record<string, string | undefined>>;

/** Everything that a command uses of its process. Tests pass in their own object. */
export interface Host {
  /** The arguments, without the paths of Node and of the script. */
  readonly argv: readonly string[];
  readonly env: Env;
  readonly cwd: string;
  readonly stdin: NodeJS.ReadableStream & {
    readonly isTTY?: boolean | undefined;
    /**
     * Switches raw mode on or off. In raw mode, a terminal reports each key at once instead of
     * whole lines. Undefined without a terminal.
     */
    setRawMode?: ((isRaw: boolean) => unknown) | undefined;
  };
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean | undefined };
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean | undefined };
  /** Aborts on SIGINT, SIGTERM and SIGHUP. */
  readonly signal: AbortSignal;
}
