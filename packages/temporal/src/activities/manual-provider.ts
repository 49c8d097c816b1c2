import { DeltaWriter, noUsage, type TextWriter } from '@millrace/core';
import {
  createProvider,
  type Provider,
  ProviderError,
  type StreamContext,
  type StreamStep,
} from '@millrace/providers';

/** A stream that the caller writes to. */
export interface ManualStreamWriter {
  /** Aborted when the output is no longer needed. */
  readonly signal: AbortSignal;
  /** Writes text of the answer. */
  write(text: string): void;
  /** Writes reasoning, which clients show separately from the answer. */
  writeReasoning(text: string): void;
}

export interface ManualProvider {
  readonly provider: Provider;
  /** Returns the error that the work threw. Undefined if the work threw no error. */
  thrown(): { readonly error: unknown } | undefined;
}

/** Creates a provider whose answer is the output of `work`. */
export function manualProvider(
  work: (stream: ManualStreamWriter) => Promise<void>,
): ManualProvider {
  let thrown: { readonly error: unknown } | undefined;
  const provider = createProvider('by hand', 'by hand', async function* (_request, context) {
    const stream = new ManualStream(context);
    const done = work(stream).then(
      () => stream.end(),
      (error: unknown) => {
        thrown = { error };
        stream.end();
      },
    );
    yield* stream.steps();
    await done;
    yield stream.endStep(thrown !== undefined);
  });
  return { provider, thrown: () => thrown };
}

class ManualStream implements ManualStreamWriter {
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

  writeReasoning(text: string): void {
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
      else await Promise.race([new Promise<void>((wake) => this.#onWake(wake)), aborted]);
    }
  }

  endStep(hasThrown: boolean): StreamStep {
    const isCut = hasThrown || this.signal.aborted;
    if (isCut) this.#part?.commit({ partial: true });
    else this.#part?.commit();
    const deltas = this.#writer.take();
    const usage = { ...noUsage };
    if (!isCut) return { deltas, end: { stop: { reason: 'stop' }, usage } };
    const kind = this.signal.aborted ? 'aborted' : 'invalid_request';
    const error = new ProviderError(kind, 'Cannot complete the answer: its writer stopped early', {
      provider: 'by hand',
    });
    const reason = this.signal.aborted ? 'aborted' : 'error';
    return { deltas, end: { stop: { reason }, usage, error } };
  }

  #onWake(wake: () => void): void {
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
