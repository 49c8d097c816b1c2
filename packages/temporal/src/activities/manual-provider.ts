import { DeltaWriter, noUsage, type TextWriter } from '@millrace/core';
import {
  createProvider,
  type Provider,
  ProviderError,
  type StreamContext,
  type StreamStep,
} from '@millrace/providers';

/** What is written to, by hand. */
export interface OpenStream {
  /** Aborts when what is written is not wanted any more. */
  readonly signal: AbortSignal;
  write(text: string): void;
  /** Thoughts, which are shown apart. */
  reason(text: string): void;
}

export interface HandFed {
  readonly provider: Provider;
  /** What the work threw, where it did. */
  thrown(): { readonly error: unknown } | undefined;
}

/** A provider that says what somebody writes. */
export function handFedProvider(work: (stream: OpenStream) => Promise<void>): HandFed {
  let thrown: { readonly error: unknown } | undefined;
  const provider = createProvider('by hand', 'by hand', async function* (_request, context) {
    const hand = new Hand(context);
    const done = work(hand).then(
      () => hand.end(),
      (error: unknown) => {
        thrown = { error };
        hand.end();
      },
    );
    yield* hand.steps();
    await done;
    yield hand.last(thrown !== undefined);
  });
  return { provider, thrown: () => thrown };
}

class Hand implements OpenStream {
  readonly signal: AbortSignal;
  readonly #writer: DeltaWriter;
  #part: TextWriter | undefined;
  #isOver = false;
  #wake = () => {};

  constructor({ item, ids, signal = new AbortController().signal }: StreamContext) {
    this.signal = signal;
    const { id: itemId, turn, attempt } = item;
    this.#writer = new DeltaWriter({ itemId, turn, attempt, ids });
  }

  write(text: string): void {
    this.#append('text', text);
  }

  reason(text: string): void {
    this.#append('reasoning', text);
  }

  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  async *steps(): AsyncGenerator<StreamStep> {
    const aborted = new Promise<void>((resolve) => {
      if (this.signal.aborted) resolve();
      this.signal.addEventListener('abort', () => resolve());
    });
    while (!this.#isOver && !this.signal.aborted) {
      const deltas = this.#writer.take();
      if (deltas.length > 0) yield { deltas };
      else await Promise.race([new Promise<void>((wake) => this.#listen(wake)), aborted]);
    }
  }

  last(hasThrown: boolean): StreamStep {
    const isCut = hasThrown || this.signal.aborted;
    if (isCut) this.#part?.commit({ partial: true });
    else this.#part?.commit();
    const deltas = this.#writer.take();
    const usage = { ...noUsage };
    if (!isCut) return { deltas, end: { stop: { reason: 'stop' }, usage } };
    const kind = this.signal.aborted ? 'aborted' : 'invalid_request';
    const error = new ProviderError(kind, 'Cannot go on: whoever wrote the answer stopped', {
      provider: 'by hand',
    });
    const reason = this.signal.aborted ? 'aborted' : 'error';
    return { deltas, end: { stop: { reason }, usage, error } };
  }

  #listen(wake: () => void): void {
    this.#wake = wake;
  }

  #append(kind: 'text' | 'reasoning', text: string): void {
    if (this.#isOver || this.signal.aborted || text === '') return;
    if (this.#part?.kind !== kind) {
      this.#part?.commit();
      this.#part = kind === 'text' ? this.#writer.text() : this.#writer.reasoning();
    }
    this.#part.append(text);
    this.#wake();
  }
}
