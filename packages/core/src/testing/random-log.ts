import { countingIds, type ItemId, type PartId, sessionId } from '../ids.ts';
import type { Delta } from '../protocol/delta.ts';
import type { Fact } from '../protocol/fact.ts';
import type { ItemKind } from '../protocol/item.ts';
import type { Part } from '../protocol/part.ts';
import { type LogRecord, recordVersion } from '../protocol/record.ts';
import { noUsage } from '../protocol/usage.ts';
import { DeltaWriter } from '../write/delta-writer.ts';
import type {
  BytesWriter,
  PartWriter,
  ReasoningWriter,
  TextWriter,
  ValueWriter,
} from '../write/part-writer.ts';
import { Choices } from './choices.ts';

export const testSession = sessionId('test');

/**
 * Creates a legal log with every kind of event: interleaved items and parts, replaced content,
 * retractions and retries.
 */
export function randomLog(numbers: readonly number[]): readonly LogRecord[] {
  const scribe = new Scribe(new Choices(numbers));
  while (scribe.goesOn) scribe.act();
  // The log of every second case ends in the middle of a turn, as if its process had died.
  if (numbers.length % 2 === 0) scribe.end();
  return scribe.records;
}

interface OpenItem {
  readonly id: ItemId;
  readonly turn: number;
  readonly attempt: number;
  readonly writer: DeltaWriter;
  readonly parts: { readonly growing: Growing; readonly writer: PartWriter }[];
  readonly committed: PartId[];
}

type Growing =
  | { readonly way: 'text'; readonly writer: TextWriter }
  | { readonly way: 'bytes'; readonly writer: BytesWriter }
  | { readonly way: 'value'; readonly writer: ValueWriter };

// Contains halves of surrogate pairs, a whole emoji, empty and repeated texts, and JSON that can
// become arguments.
const texts = ['a', 'bc', ' the ', '', '😀', '\ud83d', '\ude00', '{"x":', '1}', 'ab', 'ab', '\n'];
const values = [null, 1, 'v', [1, { a: [] }], { b: { c: 2 } }, {}] as const;
const kinds: readonly ItemKind[] = ['assistant', 'assistant', 'tool', 'user', 'notification'];

class Scribe {
  readonly records: LogRecord[] = [];
  readonly #choices: Choices;
  readonly #ids = countingIds();
  #items: OpenItem[] = [];
  /**
   * The finished items of this turn, with the attempt that finished them. If that attempt is
   * superseded, they are open again.
   */
  #finished: { readonly item: OpenItem; readonly by: number }[] = [];
  #turn = 1;
  #attempt = 1;

  constructor(choices: Choices) {
    this.#choices = choices;
  }

  get goesOn(): boolean {
    return !this.#choices.isSpent;
  }

  act(): void {
    const action = this.#choices.below(26);
    if (action < 2) return this.#startItem();
    if (action < 5) return this.#beginPart();
    if (action < 14) return this.#grow();
    if (action < 17) return this.#closePart();
    if (action === 17) return this.#wholePart();
    if (action === 18) return this.#retract();
    if (action === 19) return this.#finishItem(this.#choices.oneOf(this.#items));
    if (action === 20) return this.#remark();
    if (action === 21) return this.#finishTurn();
    if (action === 22) return this.#supersede();
    if (action === 23) return this.#afterthought();
    if (action === 24) return this.#run();
    return this.#report();
  }

  /** Finishes all open items, as at the end of every turn. */
  end(): void {
    for (const item of [...this.#items]) this.#finishItem(item);
  }

  #startItem(): void {
    const kind = this.#choices.oneOf(kinds) ?? 'assistant';
    const isOutside = kind === 'user' || kind === 'notification';
    const turn = isOutside ? 0 : this.#turn;
    // Attempt 0 means that all attempts of the turn share the item.
    const started = isOutside || this.#choices.below(3) === 0 ? 0 : this.#attempt;
    const attempt = isOutside ? 0 : this.#attempt;
    const id = this.#ids.item();
    const writer = new DeltaWriter({ itemId: id, turn, attempt, ids: this.#ids });
    this.#items.push({ id, turn, attempt: started, writer, parts: [], committed: [] });
    const named = this.#choices.below(4) === 0;
    const extras = named ? { author: { name: 'Ada' }, metadata: { shown: true } } : {};
    this.#fact({ type: 'item_started', itemId: id, kind, ...extras }, turn, started);
  }

  #beginPart(): void {
    const item = this.#choices.oneOf(this.#items);
    if (item === undefined) return this.#startItem();
    const growing = this.#newPart(item.writer);
    item.parts.push({ growing, writer: growing.writer });
    this.#takeFrom(item);
  }

  #newPart(writer: DeltaWriter): Growing {
    switch (this.#choices.below(8)) {
      case 0:
        return { way: 'bytes', writer: writer.media('image/png') };
      case 1:
        return { way: 'bytes', writer: writer.file('f', 'text/plain') };
      case 2:
        return { way: 'value', writer: writer.structured({ name: this.#some('out') }) };
      case 3:
        return { way: 'value', writer: writer.custom('c') };
      case 4:
        return { way: 'text', writer: writer.reasoning('summary') };
      case 5:
        return { way: 'text', writer: writer.toolResult(this.#ids.toolCall(), 'tool') };
      case 6:
        return { way: 'text', writer: writer.toolCall(this.#ids.toolCall(), 'tool') };
      default:
        return { way: 'text', writer: writer.text({ mimeType: this.#some('text/plain') }) };
    }
  }

  #some<T>(value: T): T | undefined {
    return this.#choices.below(3) === 0 ? value : undefined;
  }

  #grow(): void {
    const item = this.#choices.oneOf(this.#items.filter(({ parts }) => parts.length > 0));
    const part = item && this.#choices.oneOf(item.parts);
    if (item === undefined || part === undefined) return this.#beginPart();
    if (this.#choices.below(12) === 0) part.writer.metadata({ n: this.#choices.below(5) });
    else this.#growBy(part.growing);
    this.#takeFrom(item);
  }

  #growBy({ way, writer }: Growing): void {
    if (way === 'text') writer.append(this.#choices.oneOf(texts) ?? '');
    if (way === 'bytes') writer.append(Uint8Array.of(this.#choices.below(256), 7));
    if (way === 'value') writer.set(this.#choices.oneOf(values) ?? null);
  }

  #closePart(): void {
    const item = this.#choices.oneOf(this.#items.filter(({ parts }) => parts.length > 0));
    const part = item && this.#choices.oneOf(item.parts);
    if (item === undefined || part === undefined) return;
    if (this.#choices.below(4) === 0) part.writer.replace(this.#somePart());
    else this.#commit(part);
    this.#forget(item, part.writer, true);
  }

  #commit({ growing, writer }: OpenItem['parts'][number]): void {
    if (growing.way === 'value') growing.writer.set({ last: true });
    const partial = this.#some(true as const);
    const providerState = this.#some({ provider: 'p', model: 'm', data: { sealed: [1] } });
    if (writer.kind !== 'reasoning') writer.commit({ partial, providerState });
    else (writer as ReasoningWriter).commit({ partial, providerState, signature: this.#some('s') });
  }

  #forget(item: OpenItem, writer: PartWriter, isCommitted: boolean): void {
    item.parts.splice(
      item.parts.findIndex((part) => part.writer === writer),
      1,
    );
    if (isCommitted) item.committed.push(writer.partId);
    this.#takeFrom(item);
  }

  #somePart(): Part {
    const text = this.#choices.oneOf(texts) ?? '';
    const call = { toolCallId: this.#ids.toolCall(), name: 'tool' };
    switch (this.#choices.below(4)) {
      case 0:
        return { kind: 'structured', value: { text: 'whole' } };
      case 1:
        return { kind: 'tool_call', ...call, arguments: '{"whole":true}' };
      case 2:
        return { kind: 'tool_result', ...call, text, isError: true };
      default:
        return { kind: 'text', text };
    }
  }

  #wholePart(): void {
    const item = this.#choices.oneOf(this.#items);
    if (item === undefined) return;
    item.committed.push(item.writer.whole(this.#somePart()));
    this.#takeFrom(item);
  }

  #retract(): void {
    const item = this.#choices.oneOf(this.#items);
    const part = item && this.#choices.oneOf(item.parts);
    const committed = item?.committed.pop();
    if (item === undefined) return;
    if (committed !== undefined) {
      item.writer.retract(committed, 'withdrawn');
      this.#takeFrom(item);
    } else if (part !== undefined) {
      part.writer.retract('cut');
      this.#forget(item, part.writer, false);
    }
  }

  #finishItem(item: OpenItem | undefined): void {
    if (item === undefined) return;
    for (const part of [...item.parts]) {
      const isDropped = this.#choices.below(3) === 0;
      if (isDropped) part.writer.retract('aborted');
      else this.#commit(part);
      this.#forget(item, part.writer, !isDropped);
    }
    this.#items = this.#items.filter((open) => open !== item);
    this.#finished.push({ item, by: this.#attempt });
    const stop = { reason: 'stop' } as const;
    const fact: Fact =
      item.turn > 0 && this.#choices.below(2) === 0
        ? { type: 'response_finished', itemId: item.id, stop, usage: { ...noUsage, input: 3 } }
        : { type: 'item_finished', itemId: item.id };
    this.#fact(fact, item.turn, item.turn === 0 ? 0 : this.#attempt);
  }

  #finishTurn(): void {
    for (const item of this.#items.filter(({ turn }) => turn > 0)) this.#finishItem(item);
    this.#fact({ type: 'turn_finished', stop: { reason: 'stop' } }, this.#turn, 0);
    this.#turn++;
    this.#attempt = 1;
    this.#finished = [];
  }

  /** Changes a finished item: retracts a part, or redacts the item. */
  #afterthought(): void {
    const item = this.#choices.oneOf(this.#finished)?.item;
    const isSuperseded = item !== undefined && item.attempt > 0 && item.attempt < this.#attempt;
    if (item === undefined || isSuperseded) return;
    const committed = item.committed.pop();
    if (committed !== undefined && this.#choices.below(2) === 0) {
      item.writer.retract(committed, 'withdrawn');
      return this.#takeFrom(item);
    }
    const attempt = item.turn === 0 ? 0 : this.#attempt;
    this.#fact({ type: 'item_redacted', itemId: item.id }, item.turn, attempt);
    this.#finished = this.#finished.filter((one) => one.item !== item);
  }

  #run(): void {
    const runId = this.#ids.run();
    this.#fact({ type: 'run_started', runId }, 0, 0);
    const stop = { reason: 'aborted', cause: 'test' } as const;
    if (this.#choices.below(2) === 0) this.#fact({ type: 'run_finished', runId, stop }, 0, 0);
  }

  #supersede(): void {
    const used = { ...noUsage, output: 1 + this.#choices.below(9) };
    this.#fact({ type: 'usage_reported', usage: used }, this.#turn, this.#attempt);
    this.#fact({ type: 'attempt_superseded', reason: 'test' }, this.#turn, this.#attempt);
    const reopened = this.#finished.filter(
      ({ item, by }) => item.turn > 0 && item.attempt === 0 && by === this.#attempt,
    );
    this.#finished = this.#finished.filter(({ item }) => item.turn === 0);
    this.#attempt++;
    this.#items = [...this.#items, ...reopened.map(({ item }) => item)]
      .filter(({ turn, attempt }) => turn === 0 || attempt === 0)
      .map((item) => (item.turn === 0 ? item : this.#forNextAttempt(item)));
  }

  #forNextAttempt({ id, turn, attempt }: OpenItem): OpenItem {
    const options = { itemId: id, turn, attempt: this.#attempt, ids: this.#ids };
    const writer = new DeltaWriter(options);
    return { id, turn, attempt, writer, parts: [], committed: [] };
  }

  #remark(): void {
    const raw = { type: 'from_the_future', said: this.#choices.below(3) };
    if (this.#choices.below(2) === 0) return this.#fact({ type: 'unknown', raw }, this.#turn, 0);
    const head = { turn: this.#turn, attempt: this.#attempt };
    this.records.push({ ...this.#head(), ...head, delta: { type: 'unknown', raw } });
  }

  #report(): void {
    const input = 1 + this.#choices.below(100);
    const cost = { amount: `0.00${this.#choices.below(10)}`, currency: 'USD' };
    const usage = { ...noUsage, input, costs: [cost] };
    this.#fact({ type: 'usage_reported', usage }, this.#turn, this.#attempt);
  }

  #takeFrom(item: OpenItem): void {
    for (const delta of item.writer.take()) this.#delta(delta, item);
  }

  #delta(delta: Delta, { turn }: OpenItem): void {
    const attempt = turn === 0 ? 0 : this.#attempt;
    this.records.push({ ...this.#head(), turn, attempt, delta });
  }

  #fact(fact: Fact, turn: number, attempt: number): void {
    this.records.push({ ...this.#head(), turn, attempt, fact });
  }

  #head() {
    const offset = this.records.length + 1;
    const producer = this.#choices.below(8) === 0 ? 'another' : 'test';
    return { v: recordVersion, offset, time: 1000 + offset, producer } as const;
  }
}
