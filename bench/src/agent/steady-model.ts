import { DeltaWriter, noUsage } from '@millrace/core';
import { createProvider, type Provider, type StreamStep } from '@millrace/providers';

const word = 'word ';

/** A model that emits its words on a fixed schedule, like a remote model, even if the process is busy. */
export class SteadyModel {
  readonly #words: number;
  readonly #everyMs: number;
  #startedAt = 0;
  /** Number of reads so far. A late read contains more than one word. */
  reads = 0;
  words = 0;
  readonly provider: Provider;

  constructor(words: number, everyMs: number) {
    this.#words = words;
    this.#everyMs = everyMs;
    this.provider = createProvider('steady', 'steady', (_, { item, ids }) =>
      this.#stream(new DeltaWriter({ itemId: item.id, ...item, ids })),
    );
  }

  /** Returns the time at which the word at this position of the text is due. */
  dueAt(at: number): number {
    return this.#startedAt + (at / word.length + 1) * this.#everyMs;
  }

  async *#stream(writer: DeltaWriter): AsyncGenerator<StreamStep> {
    const text = writer.text();
    this.#startedAt = performance.now();
    while (this.words < this.#words) {
      await waitUntil(this.dueAt(text.length));
      // All words that are due by now arrive together, like in one read of a socket.
      const now = performance.now();
      do {
        text.append(word);
        this.words++;
      } while (this.words < this.#words && this.dueAt(text.length) <= now);
      this.reads++;
      yield { deltas: writer.take() };
    }
    text.commit();
    yield { deltas: writer.take(), end: { stop: { reason: 'stop' }, usage: noUsage } };
  }
}

function waitUntil(time: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, Math.max(0, time - performance.now()));
  });
}
