/**
 * Environment variables. They are passed to each function, so that no module reads the environment
 * of the process.
 */
export type Env = Readonly<Record<string, string | undefined>>;

/** The parts of the process that a command uses. Tests pass their own object. */
export interface Host {
  /** The arguments after the paths of Node and of the script. */
  readonly argv: readonly string[];
  readonly env: Env;
  readonly cwd: string;
  readonly stdin: NodeJS.ReadableStream & {
    readonly isTTY?: boolean | undefined;
    /**
     * Switches raw mode on or off. In raw mode, a terminal reports each key immediately, and not
     * only whole lines. Undefined if the input is not a terminal.
     */
    setRawMode?: ((isRaw: boolean) => unknown) | undefined;
  };
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean | undefined };
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean | undefined };
  /** A signal that aborts on SIGINT, SIGTERM and SIGHUP. */
  readonly signal: AbortSignal;
}
