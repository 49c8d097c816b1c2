import type { DeltaWriter, JsonObject } from '@millrace/core';
import { objectsIn, textIn } from '../json/fields.ts';
import { OutputItem } from './output-item.ts';
import { StreamedText, type TextSink } from './streamed-text.ts';

type Form = 'summary' | 'full';
type Thought = StreamedText<TextSink>;

/**
 * What the model thinks, as summaries or, of open models, in full: a part each. They stay open until
 * the item's end, because only then the state is known that has to go back, on the first of them.
 */
export class ReasoningItem extends OutputItem {
  readonly type = 'reasoning';
  /** In the order in which they began. */
  readonly #thoughts = new Map<number, Thought>();
  #isSealed = false;
  #retractBare = (): void => {};

  append(form: Form, index: number, chunk: string): void {
    if (!this.isClosed) this.#thought(form, index).append(chunk);
  }

  settle(form: Form, index: number, whole: string): void {
    if (!this.isClosed) this.#thought(form, index).settle(whole);
  }

  /** The same in the words of a server that calls it output: not new where it is known as a summary. */
  settleContent(index: number, whole: string): void {
    const isKnown = this.#begun.some(({ text }) => text === whole);
    if (!isKnown) this.settle('full', index, whole);
  }

  override agrees(item: JsonObject): boolean {
    // What is encrypted differs from event to event; any of it will do, but none will not.
    if (isSealed(item) && !this.#isSealed) return false;
    return said(item).every(
      ({ form, index, whole }) =>
        this.#thoughts.get(keyOf(form, index))?.agrees(whole) ?? whole === '',
    );
  }

  override retract(): void {
    for (const thought of this.#thoughts.values()) thought.retract('withdrawn');
    this.#retractBare();
  }

  protected override finish(item: JsonObject): void {
    for (const { form, index, whole } of said(item)) this.#thought(form, index).settle(whole);
    this.#isSealed = isSealed(item);
    const providerState = { ...this.context.owner, data: item };
    const [first, ...others] = this.#begun;
    first?.commit({ providerState });
    for (const thought of others) thought.commit();
    if (first !== undefined) return;
    const { writer } = this.context;
    const partId = writer.whole({ kind: 'reasoning', text: '', form: 'redacted', providerState });
    this.#retractBare = () => writer.retract(partId, 'withdrawn');
  }

  /** Without its end there is nothing to send back. */
  protected override giveUp(): void {
    for (const thought of this.#begun) thought.commit();
  }

  get #begun(): readonly Thought[] {
    return [...this.#thoughts.values()].filter(({ sink }) => sink !== undefined);
  }

  #thought(form: Form, index: number): Thought {
    const key = keyOf(form, index);
    const there = this.#thoughts.get(key);
    if (there !== undefined) return there;
    const thought: Thought = new StreamedText(() => sinkOf(this.context.writer, form));
    this.#thoughts.set(key, thought);
    return thought;
  }
}

function sinkOf(writer: DeltaWriter, form: Form): TextSink {
  const part = writer.reasoning(form);
  return {
    append: (chunk) => part.append(chunk),
    commit: (end) => part.commit(end),
    replace: (text, { providerState }) =>
      part.replace({
        kind: 'reasoning',
        text,
        form,
        ...(providerState === undefined ? {} : { providerState }),
      }),
    retract: (reason) => part.retract(reason),
  };
}

/** One number for both. */
function keyOf(form: Form, index: number): number {
  return form === 'summary' ? index : -1 - index;
}

function isSealed(item: JsonObject): boolean {
  return textIn(item, 'encrypted_content') !== undefined;
}

interface Said {
  readonly form: Form;
  readonly index: number;
  readonly whole: string;
}

function said(item: JsonObject): readonly Said[] {
  const under = (key: string, form: Form) =>
    objectsIn(item, key).map((part, index) => ({ form, index, whole: textIn(part, 'text') ?? '' }));
  return [...under('summary', 'summary'), ...under('content', 'full')];
}
