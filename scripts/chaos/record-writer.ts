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

interface RecordWriterOptions {
  /** A text that every id contains. So two writers never write the same record. */
  readonly tag: string;
  readonly turn: number;
  readonly attempt: number;
  readonly random: Randomness;
}

const textPieces = [
  'rain',
  ' cloud ',
  'Grüße ',
  '天気',
  '😀',
  '\n',
  '"',
  '\u2028',
  ' and more',
  '',
] as const;

/** Writes random records as a model would: items, parts, text and retractions. */
export class RandomRecordWriter {
  readonly #options: RecordWriterOptions;
  #writer: DeltaWriter | undefined;
  #open: readonly TextWriter[] = [];
  #item: ItemId | undefined;
  #items = 0;
  #parts = 0;

  constructor(options: RecordWriterOptions) {
    this.#options = options;
  }

  /** Returns one to six records for one append. */
  write(): readonly DraftRecord[] {
    const { random } = this.#options;
    const drafts: DraftRecord[] = [];
    const most = random.between(1, 6);
    while (drafts.length < most) drafts.push(...this.#step());
    return drafts;
  }

  /** Returns records that close all open parts and items. */
  finish(): readonly DraftRecord[] {
    if (this.#writer === undefined || this.#item === undefined) return [];
    for (const part of this.#open) part.commit({ partial: true });
    this.#open = [];
    const finished = this.#fact({ type: 'item_finished', itemId: this.#item });
    const drafts = [...this.#takeDrafts(), finished];
    this.#writer = undefined;
    return drafts;
  }

  #step(): readonly DraftRecord[] {
    const { random } = this.#options;
    const writer = this.#writer;
    if (writer === undefined) return this.#startItem();
    const part = random.oneOf(this.#open);
    if (part === undefined && random.oneIn(4)) return this.finish();
    if (part === undefined || (random.oneIn(12) && this.#open.length < 4)) {
      this.#open = [...this.#open, this.#beginPart(writer)];
      return this.#takeDrafts();
    }
    if (random.oneIn(15)) part.commit();
    else if (random.oneIn(40)) part.retract('withdrawn');
    else this.#appendText(part);
    this.#open = this.#open.filter(({ isOpen }) => isOpen);
    return this.#takeDrafts();
  }

  #startItem(): readonly DraftRecord[] {
    const { tag, turn, attempt } = this.#options;
    const id = itemId(`${tag} item ${++this.#items}`);
    const part = () => partId(turn, attempt, `${tag} part ${++this.#parts}`);
    this.#item = id;
    this.#writer = new DeltaWriter({ itemId: id, turn, attempt, ids: { part } });
    return [this.#fact({ type: 'item_started', itemId: id, kind: 'assistant' })];
  }

  #beginPart(writer: DeltaWriter): TextWriter {
    const { random, tag } = this.#options;
    if (random.oneIn(4)) return writer.reasoning();
    if (random.oneIn(4)) return writer.toolCall(toolCallId(`${tag} call ${this.#parts}`), 'search');
    return writer.text();
  }

  #appendText(part: TextWriter): void {
    const { random } = this.#options;
    if (random.oneIn(30)) part.metadata({ n: random.below(2 ** 31) });
    // Some texts are larger than a page of the database file.
    const times = random.oneIn(50) ? 600 : 1;
    part.append(`${random.oneOf(textPieces).repeat(times)}${random.below(1000)}`);
  }

  #takeDrafts(): readonly DraftRecord[] {
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
