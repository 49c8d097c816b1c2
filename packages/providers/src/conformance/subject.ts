import type { Provider } from '../contract/provider.ts';

/** The answer that a provider under test must stream. */
export interface ConformanceAnswer {
  readonly reasoning?: string | undefined;
  readonly text?: string | undefined;
  readonly toolCalls?: readonly ConformanceToolCall[] | undefined;
  /** `length` if the answer ends because of its token limit. Default: the answer ends normally. */
  readonly stop?: 'length' | undefined;
  /**
   * How the stream ends after the content. Default: `whole`.
   *
   * - `cut`: the stream ends without the provider's terminal signal.
   * - `error`: the provider sends an error instead of its terminal signal.
   * - `stall`: the provider sends nothing more.
   *
   * In the last three cases the last block stays open. If the wire marks the end of a text or a
   * call, that mark is not sent.
   */
  readonly ends?: 'whole' | 'cut' | 'error' | 'stall' | undefined;
}

/** A tool call of a conformance answer. */
export interface ConformanceToolCall {
  readonly name: string;
  /** The arguments as JSON text. The value must be an object. */
  readonly arguments: string;
}

/** A provider under test. */
export interface ConformanceSubject {
  /** Creates a provider that gives this answer to each request. */
  readonly provider: (answer: ConformanceAnswer) => Provider | Promise<Provider>;
  /** Features that the provider does not have. Their cases are skipped. Default: none. */
  readonly limitations?: readonly ConformanceLimitation[] | undefined;
}

/**
 * A feature that a provider may lack. `open_calls` means that tool calls arrive complete, so that
 * no call is open when an answer ends early.
 */
export type ConformanceLimitation = 'reasoning' | 'length' | 'open_calls';

/** One requirement for every provider. */
export interface ConformanceCase {
  readonly name: string;
  /** Runs the case. Rejects with the reason if the provider does not meet the requirement. */
  readonly run: () => Promise<void>;
}
