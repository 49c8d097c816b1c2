import {
  type ContentLimits,
  type DraftRecord,
  defaultContentLimits,
  type Ids,
  type Stop,
} from '@millrace/core';
import type { Update } from '../contract/message.ts';
import { IndexWriter } from './index-writer.ts';
import { readUpdate, UpdateError } from './read-update.ts';
import { noWarnings, type UpdateWarning, type UpdateWarnings } from './update-warnings.ts';

export interface UpdateWriterOptions {
  readonly turn: number;
  readonly attempt: number;
  readonly ids: Pick<Ids, 'item' | 'part' | 'toolCall'>;
  readonly limits?: Partial<ContentLimits> | undefined;
  /** Maximum number of values of `index` (one per message) in the updates of one answer. Default: 1024. */
  readonly maxIndexes?: number | undefined;
}

type Opening = Exclude<Update, { type: 'done' }>;

/**
 * Converts an agent's updates to drafts for the log. Each turn has its own writer. It accepts and counts
 * irregular updates. It refuses only invalid updates and updates over a limit. A refused update has no
 * effect.
 */
export class UpdateWriter {
  readonly #options: UpdateWriterOptions;
  readonly #indexes = new Map<number, IndexWriter>();
  /** The indexes that clients have already received. */
  readonly #usedIndexes = new Set<number>();
  /** The number of parts that began, also of parts that were retracted. */
  #begun = 0;
  /** The number of characters that clients receive again because a format changed. */
  #sentAgain = 0;
  #next = 0;
  #last: { readonly writer: IndexWriter; readonly isUnindexed: boolean } | undefined;
  #warnings: UpdateWarnings = noWarnings;
  #hasEnded = false;

  constructor(options: UpdateWriterOptions) {
    this.#options = options;
  }

  get warnings(): UpdateWarnings {
    return this.#warnings;
  }

  /** True if open content exists. `end` closes it. */
  get isOpen(): boolean {
    return this.#open().length > 0;
  }

  /**
   * Converts one update to drafts. It accepts any value, and throws `UpdateError` if the value is not an
   * update.
   */
  write(input: unknown): readonly DraftRecord[] {
    if (this.#hasEnded) throw new UpdateError('writer_ended', 'accept an update', this.#location());
    const update = readUpdate(input);
    if (update.type === 'delta' && update.delta === null) return [];
    const writer = this.#writerFor(update);
    if (writer === undefined) return [];
    this.#apply(writer, update);
    return writer.take();
  }

  /** Closes all open content as complete. Call it when the agent has finished. */
  end(): readonly DraftRecord[] {
    return this.#close();
  }

  /**
   * Closes all open content as partial, and drops unfinished tool calls. Call it when the agent failed, was
   * stopped or crashed.
   */
  endPartial(stop: Stop): readonly DraftRecord[] {
    return this.#close(stop);
  }

  #close(stop?: Stop): readonly DraftRecord[] {
    this.#hasEnded = true;
    return this.#open().flatMap((writer) => {
      writer.close(stop);
      return writer.take();
    });
  }

  #apply(writer: IndexWriter, update: Update): void {
    switch (update.type) {
      case 'start':
        return writer.start(update.content);
      case 'delta':
        return update.delta === null ? undefined : writer.delta(update.delta);
      case 'full':
        return writer.full(update.content);
      case 'done':
        return writer.close();
    }
  }

  #writerFor(update: Update): IndexWriter | undefined {
    if (update.index === null) return this.#writerWithoutIndex(update);
    const known = this.#indexes.get(update.index);
    if (known?.isClosed) return this.#warn('late');
    if (known !== undefined) return known;
    return update.type === 'done' ? this.#warn('unopened') : this.#openIndex(update.index, update);
  }

  /**
   * Returns the writer for an update without an index. `delta` and `done` apply to the index that was opened
   * last, if it is still open. `full` applies to this index only if the update that opened it also had no
   * index.
   */
  #writerWithoutIndex(update: Update): IndexWriter | undefined {
    const last = this.#last?.writer.isClosed === false ? this.#last : undefined;
    const goesToLast =
      update.type === 'delta' ||
      update.type === 'done' ||
      (update.type === 'full' && last?.isUnindexed === true);
    if (update.type === 'done' && last === undefined) return this.#warn('unopened');
    this.#warn('unindexed');
    if (last !== undefined && goesToLast) return last.writer;
    return this.#openIndex(this.#nextIndex(), update as Opening, true);
  }

  #openIndex(index: number, update: Opening, isUnindexed = false): IndexWriter {
    const { maxIndexes = 1024 } = this.#options;
    const isFull = this.#indexes.size >= maxIndexes;
    if (isFull) throw new UpdateError('too_many_indexes', 'open one more index', this.#location());
    const { turn, attempt, ids, limits } = this.#options;
    const options = {
      ...{
        turn,
        attempt,
        ids,
        limits,
        index: this.#usedIndexes.has(index) ? this.#nextIndex() : index,
      },
      nextIndex: () => this.#take(this.#nextIndex()),
      countPart: () => this.#countPart(),
      maySendAgain: (characters: number) => this.#maySendAgain(characters),
      warn: (warning: UpdateWarning) => void this.#warn(warning),
    };
    this.#take(options.index);
    const writer = new IndexWriter(options, update);
    this.#indexes.set(index, writer);
    this.#last = { writer, isUnindexed };
    return writer;
  }

  /**
   * Throws if the whole answer has too many parts. Each index has its own writer, and the fold keeps the ids of all
   * retracted parts until the turn ends.
   */
  #countPart(): void {
    const { maxOpenParts, maxParts } = { ...defaultContentLimits, ...this.#options.limits };
    const open = this.#open().reduce((sum, { openParts }) => sum + openParts, 0);
    if (open >= maxOpenParts || this.#begun >= maxParts)
      throw new UpdateError('too_many_parts', 'begin one more part', this.#location());
    this.#begun += 1;
  }

  #maySendAgain(characters: number): boolean {
    const { maxTextLength } = { ...defaultContentLimits, ...this.#options.limits };
    this.#sentAgain += characters;
    return this.#sentAgain <= maxTextLength;
  }

  #take(index: number): number {
    this.#usedIndexes.add(index);
    return index;
  }

  #nextIndex(): number {
    while (this.#usedIndexes.has(this.#next) || this.#indexes.has(this.#next)) this.#next++;
    return this.#next;
  }

  #open(): readonly IndexWriter[] {
    return [...this.#indexes.values()].filter(({ isClosed }) => !isClosed);
  }

  #warn(warning: UpdateWarning): undefined {
    this.#warnings = { ...this.#warnings, [warning]: this.#warnings[warning] + 1 };
  }

  #location() {
    const { turn, attempt } = this.#options;
    return { turn, attempt, indexes: this.#indexes.size };
  }
}
