import { AgentError, type Tool } from '@millrace/agent';

/** Options of `connectMcp`. */
export interface McpOptions {
  /**
   * If true, the client trusts the server's tool annotations. A read-only tool gets `effects: 'none'` and
   * `afterCrash: 'repeat'`, and an idempotent tool gets `afterCrash: 'repeat'`. Set it only for servers that
   * you trust completely. Default: false.
   */
  readonly trustAnnotations?: boolean | undefined;
  /**
   * If true, the client asks the server for its supported protocol revisions before it connects. The client
   * then uses the revision of 2026 if possible. Default: true for HTTP; false for stdio, because some stdio
   * servers exit on an unknown request.
   */
  readonly negotiate?: boolean | undefined;
  /** Time limit for starting the server, the handshake and listing the tools. Default: 30 s. */
  readonly connectTimeoutMs?: number | undefined;
  /**
   * Maximum time without a message during a call. Each progress message restarts the timer. Default: 2
   * minutes.
   */
  readonly timeoutMs?: number | undefined;
  /** Time limit for a complete call. Default: 30 minutes. */
  readonly totalTimeoutMs?: number | undefined;
  /**
   * The time to wait for a server to exit after its input was closed. The client then sends SIGTERM, waits
   * the same time again, and kills the server. Default: 2 s.
   */
  readonly graceMs?: number | undefined;
  /** Maximum size of one message from the server. Default: 16 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** Maximum total size of the attachments of one result. Default: 8 MiB. */
  readonly maxAttachmentBytes?: number | undefined;
  /**
   * If true, the client announces that it shows MCP apps, and keeps the app of a tool with its results. Set it
   * if users see the session on the page of a server. Default: false.
   */
  readonly apps?: boolean | undefined;
  /** Maximum size of the document of an app. A larger app is not shown. Default: 4 MiB. */
  readonly maxAppBytes?: number | undefined;
  /** Maximum length of the description of a tool. Default: 2,048 characters. */
  readonly maxDescriptionLength?: number | undefined;
  /**
   * Maximum length of the result text for the model. See `maxOutputLength` of `Tool`. Default: 30,000
   * characters.
   */
  readonly maxOutputLength?: number | undefined;
  /** Called when the server has changed its tools. `McpTools.tools` is already updated. Default: none. */
  readonly onChange?: ((tools: readonly Tool[]) => void) | undefined;
  /**
   * Called for a problem outside of any call, for example when the list of tools cannot be read.
   * Default: the problem is ignored.
   */
  readonly onProblem?: ((problem: string) => void) | undefined;
  /**
   * Called before each start of the server. A call restarts a server that has ended, and this function is
   * called before the restart too. If the function throws, the server does not start, and the call gets the
   * error. Default: there is no check.
   */
  readonly beforeStart?: (() => Promise<void>) | undefined;
}

type Hooks = Pick<McpOptions, 'onChange' | 'onProblem' | 'beforeStart'>;
type Flags = Pick<McpOptions, 'trustAnnotations' | 'negotiate' | 'apps'>;
type Numbers = Omit<McpOptions, keyof Hooks | keyof Flags>;

/** The options with all defaults filled in. */
export type McpSettings = { readonly [Name in keyof Numbers]-?: number } & {
  readonly [Name in keyof Flags]-?: boolean;
} & Hooks;

const defaults: { readonly [Name in keyof Numbers]-?: number } = {
  connectTimeoutMs: 30_000,
  timeoutMs: 120_000,
  totalTimeoutMs: 1_800_000,
  graceMs: 2_000,
  maxMessageBytes: 16 * 2 ** 20,
  maxAttachmentBytes: 8 * 2 ** 20,
  maxAppBytes: 4 * 2 ** 20,
  maxDescriptionLength: 2_048,
  maxOutputLength: 30_000,
};

// The largest accepted number. With larger values, Node.js timers fire immediately.
const maxNumber = 2 ** 31 - 1;

/** Checks the options and fills in the defaults. */
export function resolveMcpOptions(options: McpOptions, isHttp: boolean): McpSettings {
  const numbers = Object.entries(defaults).map(([name, usual]) => {
    const value = options[name as keyof Numbers] ?? usual;
    if (!Number.isInteger(value) || value < 0 || value > maxNumber)
      throw invalidNumber(name, value);
    return [name, value] as const;
  });
  return {
    ...(Object.fromEntries(numbers) as typeof defaults),
    trustAnnotations: options.trustAnnotations ?? false,
    negotiate: options.negotiate ?? isHttp,
    apps: options.apps ?? false,
    onChange: options.onChange,
    onProblem: options.onProblem,
    beforeStart: options.beforeStart,
  };
}

function invalidNumber(name: string, value: number): AgentError {
  const message = `Invalid option ${name}: ${value} is not a whole number from 0 to ${maxNumber}`;
  return new AgentError('bad_option', message, { option: name });
}
