import type { Provider } from '../contract/provider.ts';

/** What a provider is made to say by those who test it. */
export interface ConformanceAnswer {
  readonly reasoning?: string;
  readonly text?: string;
  readonly calls?: readonly ConformanceCall[];
  /** The provider ran out of tokens. */
  readonly stop?: 'length';
  /**
   * How the stream ends after all of that was said: `cut` is the end of the stream without the
   * provider's own terminal signal, `error` an error of the provider in its place, and `stall`
   * says nothing more.
   */
  readonly ends?: 'whole' | 'cut' | 'error' | 'stall';
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
  /** What it cannot say: cases about it are left out. */
  readonly without?: readonly ('reasoning' | 'length')[];
}

/** One thing that every provider has to do. `run` rejects, saying what was wrong. */
export interface ConformanceCase {
  readonly name: string;
  readonly run: () => Promise<void>;
}
