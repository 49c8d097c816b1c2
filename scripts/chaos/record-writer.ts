import {
  type Delta,
  DeltaWriter,
  type DraftRecord,
  type Fact,
  type ItemId,
  itemId,
  partId,
  type TextWriter,
  toolCallId,
} from '@millrace/core';
import type { Randomness } from './randomness.ts';

interface ScribeOptions {
  /** In everything that it writes, so that no two scribes write the same. */
  readonly tag: string;
  readonly turn: number;
  readonly attempt: number;
  readonly random: Randomness;
}

const words = [
  'mill',
  ' race ',
  'Grüße ',
  '水車',
  '😀',
  '\n',
  '"',
  '\u2028',
  ' and so on',
  '',
] as const;

/** Writes what a model might say, a few records at a time: items, parts, pieces of text, withdrawals. */
export class Scribe {
  readonly #options: ScribeOptions;
  #writer: DeltaWriter | undefined;
  #open: readonly TextWriter[] = [];
  #item: ItemId | undefined;
  #items = 0;
  #parts = 0;

  constructor(options: ScribeOptions) {
    this.#options = options;
  }

  /** One to a few records that go together. */
  write(): readonly DraftRecord[] {
    const { random } = this.#options;
    const drafts: DraftRecord[] = [];
    const most = random.between(1, 6);
    while (drafts.length < most) drafts.push(...this.#act());
    return drafts;
  }

  /** Everything that is open is closed. */
  finish(): readonly DraftRecord[] {
    if (this.#writer === undefined || this.#item === undefined) return [];
    for (const part of this.#open) part.commit({ partial: true });
    this.#open = [];
    const finished = this.#fact({ type: 'item_finished', itemId: this.#item });
    const drafts = [...this.#take(), finished];
    this.#writer = undefined;
    return drafts;
  }

  #act(): readonly DraftRecord[] {
    const { random } = this.#options;
    const writer = this.#writer;
    if (writer === undefined) return this.#start();
    const part = random.oneOf(this.#open);
    if (part === undefined && random.oneIn(4)) return this.finish();
    if (part === undefined || (random.oneIn(12) && this.#open.length < 4)) {
      this.#open = [...this.#open, this.#begin(writer)];
      return this.#take();
    }
    if (random.oneIn(15)) part.commit();
    else if (random.oneIn(40)) part.retract('withdrawn');
    else this.#grow(part);
    this.#open = this.#open.filter(({ isOpen }) => isOpen);
    return this.#take();
  }

  #start(): readonly DraftRecord[] {
    const { tag, turn, attempt } = this.#options;
    const id = itemId(`${tag} item ${++this.#items}`);
    const part = () => partId(turn, attempt, `${tag} part ${++this.#parts}`);
    this.#item = id;
    this.#writer = new DeltaWriter({ itemId: id, turn, attempt, ids: { part } });
    return [this.#fact({ type: 'item_started', itemId: id, kind: 'assistant' })];
  }

  #begin(writer: DeltaWriter): TextWriter {
    const { random, tag } = this.#options;
    if (random.oneIn(4)) return writer.reasoning();
    if (random.oneIn(4)) return writer.toolCall(toolCallId(`${tag} call ${this.#parts}`), 'search');
    return writer.text();
  }

  #grow(part: TextWriter): void {
    const { random } = this.#options;
    if (random.oneIn(30)) part.metadata({ n: random.below(2 ** 31) });
    // Now and then more than a page of the file.
    const times = random.oneIn(50) ? 600 : 1;
    part.append(`${random.oneOf(words).repeat(times)}${random.below(1000)}`);
  }

  #take(): readonly DraftRecord[] {
    return (this.#writer?.take() ?? []).map((delta) => this.#delta(delta));
  }

  #delta(delta: Delta): DraftRecord {
    const { turn, attempt } = this.#options;
    return { turn, attempt, delta };
  }

  #fact(fact: Fact): DraftRecord {
    const { turn, attempt } = this.#options;
    return { turn, attempt, fact };
  }
}
