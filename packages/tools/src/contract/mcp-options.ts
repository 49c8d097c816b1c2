import { AgentError, type Tool } from '@millrace/agent';

export interface McpOptions {
  /**
   * Take the server's word that a tool only reads (`effects: 'none'`, `replay: 'safe'`) or may be
   * repeated (`replay: 'safe'`). Only for servers you would let run anything.
   */
  readonly trustAnnotations?: boolean | undefined;
  /**
   * Ask first which revision of the protocol the server speaks, and take the one of 2026 where it can.
   * Yes over HTTP; no over stdio, where there are servers that end at a question they do not know.
   */
  readonly negotiate?: boolean | undefined;
  /** To start, say hello and list the tools. 30 seconds. */
  readonly connectTimeoutMs?: number | undefined;
  /** How long a call may be silent; progress is a sign of life. 2 minutes. */
  readonly timeoutMs?: number | undefined;
  /** How long a call may take in all. 30 minutes. */
  readonly totalTimeoutMs?: number | undefined;
  /** What a server gets to end by itself before it is asked to, and again before it is killed. 2 seconds. */
  readonly graceMs?: number | undefined;
  /** One message of the server. 16 MiB. */
  readonly maxMessageBytes?: number | undefined;
  /** All attachments of a result. 8 MiB. */
  readonly maxAttachmentBytes?: number | undefined;
  readonly maxDescriptionLength?: number | undefined;
  /** Of the text of a result that the model gets; see `Tool`. 30,000. */
  readonly maxOutputLength?: number | undefined;
  /** The server has other tools than before. They are in `tools` as well. */
  readonly onChange?: ((tools: readonly Tool[]) => void) | undefined;
  /** Something went wrong outside of any call, for instance a list that could not be read. */
  readonly onProblem?: ((problem: string) => void) | undefined;
}

type Hooks = Pick<McpOptions, 'onChange' | 'onProblem'>;
type Flags = Pick<McpOptions, 'trustAnnotations' | 'negotiate'>;
type Numbers = Omit<McpOptions, keyof Hooks | keyof Flags>;

/** The same with nothing left open. */
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
  maxDescriptionLength: 2_048,
  maxOutputLength: 30_000,
};

// Timers fire at once beyond it.
const maxNumber = 2 ** 31 - 1;

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
    onChange: options.onChange,
    onProblem: options.onProblem,
  };
}

function invalidNumber(name: string, value: number): AgentError {
  const message = `Cannot take ${name}: ${value} is no whole number from 0 to ${maxNumber}`;
  return new AgentError('bad_option', message, { option: name });
}
