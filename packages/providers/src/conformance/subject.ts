import type { Provider } from '../contract/provider.ts';

/** The answer that a provider under test must stream. */
export interface ConformanceAnswer {
  readonly reasoning?: string | undefined;
  readonly text?: string | undefined;
  readonly toolCalls?: readonly ConformanceToolCall[] | undefined;
  /** `length` if the answer ends because of its token limit. Default: the answer ends normally. */
  readonly stop?: 'length' | undefined;
  /**
   * The end of the stream, after the content. Default: `whole`.
   *
   * - `cut`: the stream ends without the provider's terminal signal.
   * - `error`: the provider sends an error instead of its terminal signal.
   * - `stall`: the provider sends nothing more.
   *
   * With `cut`, `error` and `stall`, the last block stays open. If the wire format marks the end of a text or
   * a call, the provider does not send that mark.
   */
  readonly ends?: 'whole' | 'cut' | 'error' | 'stall' | undefined;
}

/** A tool call of a conformance answer. */
export interface ConformanceToolCall {
  readonly name: string;
  /** The arguments as JSON text, which must contain an object. */
  readonly arguments: string;
}

/** A provider under test. */
export interface ConformanceSubject {
  /** Creates a provider that returns this answer for each request. */
  readonly provider: (answer: ConformanceAnswer) => Provider | Promise<Provider>;
  /** Features that the provider does not have. The cases for these features are skipped. Default: none. */
  readonly limitations?: readonly ConformanceLimitation[] | undefined;
}

/**
 * A feature that a provider may not have. `open_calls` means that tool calls arrive complete, so that no call
 * is open when an answer ends early.
 */
export type ConformanceLimitation = 'reasoning' | 'length' | 'open_calls';

/** One requirement that every provider must meet. */
export interface ConformanceCase {
  readonly name: string;
  /** Runs the case. Rejects with the reason if the provider does not meet the requirement. */
  readonly run: () => Promise<void>;
}
