import type { Provider } from '../contract/provider.ts';

/** What a provider is made to say by those who test it. */
export interface ConformanceAnswer {
  readonly reasoning?: string | undefined;
  readonly text?: string | undefined;
  readonly calls?: readonly ConformanceCall[] | undefined;
  /** The provider ran out of tokens. */
  readonly stop?: 'length' | undefined;
  /**
   * How the stream ends after all of that was said: `cut` is the end of the stream without the
   * provider's own terminal signal, `error` an error of the provider in its place, and `stall`
   * says nothing more. In all three the last block is still open: where the wire marks the end of a
   * text or a call, that mark has not come.
   */
  readonly ends?: 'whole' | 'cut' | 'error' | 'stall' | undefined;
}

export interface ConformanceCall {
  readonly name: string;
  /** JSON text of an object. */
  readonly arguments: string;
}

/** A provider under test. */
export interface ConformanceSubject {
  /** A provider that gives this answer to each request. */
  readonly provider: (answer: ConformanceAnswer) => Provider | Promise<Provider>;
  /** What it cannot say: what is about it is left out. */
  readonly without?: readonly ConformanceLack[] | undefined;
}

/** `open_calls`: its calls come whole, so that none is ever open when an answer breaks off. */
export type ConformanceLack = 'reasoning' | 'length' | 'open_calls';

/** One thing that every provider has to do. `run` rejects, saying what was wrong. */
export interface ConformanceCase {
  readonly name: string;
  readonly run: () => Promise<void>;
}
