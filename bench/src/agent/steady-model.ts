import { DeltaWriter, noUsage } from '@millrace/core';
import { createProvider, type Provider, type StreamStep } from '@millrace/providers';

const word = 'word ';

/** A model that says its words on time, whatever the process does meanwhile, as one on a wire would. */
export class SteadyModel {
  readonly #words: number;
  readonly #everyMs: number;
  #startedAt = 0;
  /** What was read at once, so far: more than one word where the reader was late. */
  reads = 0;
  words = 0;
  readonly provider: Provider;

  constructor(words: number, everyMs: number) {
    this.#words = words;
    this.#everyMs = everyMs;
    this.provider = createProvider('steady', 'steady', (_, { item, ids }) =>
      this.#speak(new DeltaWriter({ itemId: item.id, ...item, ids })),
    );
  }

  /** When the word that stands at this place of the text was said. */
  dueAt(at: number): number {
    return this.#startedAt + (at / word.length + 1) * this.#everyMs;
  }

  async *#speak(writer: DeltaWriter): AsyncGenerator<StreamStep> {
    const text = writer.text();
    this.#startedAt = performance.now();
    while (this.words < this.#words) {
      await until(this.dueAt(text.length));
      // All that came since, as a socket would have it.
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

function until(time: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, Math.max(0, time - performance.now()));
  });
}
