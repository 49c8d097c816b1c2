import type { DeltaWriter, JsonObject, ProviderState } from '@millrace/core';
import type { ModelRequest } from '../../contract/model-request.ts';
import { objectIn, objectsIn, textIn } from '../../json/fields.ts';
import { Citations } from '../../wire/citations.ts';
import { TextBlock } from '../../wire/text-block.ts';
import { OutputItem } from './output-item.ts';
import { StreamedText, type TextSink } from './streamed-text.ts';

/** What the model says: text and refusals, by content index. */
export class MessageItem extends OutputItem {
  readonly type = 'message';
  readonly #passages = new Map<number, Passage>();

  get isRefused(): boolean {
    return [...this.#passages.values()].some(({ isRefusal, isEmpty }) => isRefusal && !isEmpty);
  }

  override get isEmpty(): boolean {
    return [...this.#passages.values()].every(({ isEmpty }) => isEmpty);
  }

  append(contentIndex: number, chunk: string, isRefusal: boolean): void {
    if (!this.isClosed) this.#passage(contentIndex, isRefusal).append(chunk);
  }

  settle(contentIndex: number, whole: string, isRefusal: boolean): void {
    if (!this.isClosed) this.#passage(contentIndex, isRefusal).settle(whole);
  }

  cite(contentIndex: number, annotation: JsonObject): void {
    if (!this.isClosed) this.#passage(contentIndex, false).cite(annotation);
  }

  /** All sources, where the end of a passage names them again. */
  settleCitations(contentIndex: number, part: JsonObject): void {
    if (!this.isClosed) this.#passage(contentIndex, false).settleCitations(part);
  }

  override agrees(item: JsonObject): boolean {
    return objectsIn(item, 'content').every((part, index) => {
      const { whole } = contentText(part);
      return this.#passages.get(index)?.agrees(whole, part) ?? whole === '';
    });
  }

  override retract(): void {
    for (const passage of this.#passages.values()) passage.retract();
  }

  protected override finish(item: JsonObject): void {
    for (const [index, part] of objectsIn(item, 'content').entries()) {
      const { whole, isRefusal } = contentText(part);
      const passage = this.#passage(index, isRefusal);
      passage.settle(whole);
      if (!isRefusal) passage.settleCitations(part);
    }
    this.#commit();
  }

  protected override giveUp(): void {
    this.#commit();
  }

  #passage(contentIndex: number, isRefusal: boolean): Passage {
    const there = this.#passages.get(contentIndex);
    if (there !== undefined && (there.isRefusal === isRefusal || !there.isEmpty)) return there;
    const { writer, request } = this.context;
    const passage = new Passage(writer, request, isRefusal);
    this.#passages.set(contentIndex, passage);
    return passage;
  }

  #commit(): void {
    // Models do worse when the phase, commentary or final answer, does not come back.
    const phase = textIn(this.fields, 'phase');
    const state = this.state({
      type: this.type,
      ...(this.id === undefined ? {} : { id: this.id }),
      ...(phase === undefined ? {} : { phase }),
    });
    for (const passage of this.#passages.values()) passage.commit(state);
  }
}

function contentText(part: JsonObject): { readonly whole: string; readonly isRefusal: boolean } {
  const refusal = textIn(part, 'refusal');
  return { whole: refusal ?? textIn(part, 'text') ?? '', isRefusal: refusal !== undefined };
}

/** One piece of a message's content: an answer with its sources, or a refusal. */
class Passage {
  readonly isRefusal: boolean;
  readonly #writer: DeltaWriter;
  readonly #request: ModelRequest;
  readonly #text: StreamedText<TextBlock> = new StreamedText(() => this.#begin());
  #citations = new Citations();

  constructor(writer: DeltaWriter, request: ModelRequest, isRefusal: boolean) {
    this.#writer = writer;
    this.#request = request;
    this.isRefusal = isRefusal;
  }

  get isEmpty(): boolean {
    return this.#text.sink === undefined;
  }

  append(chunk: string): void {
    this.#text.append(chunk);
  }

  settle(whole: string): void {
    this.#text.settle(whole);
  }

  /** Does this say the same, and name no other sources? */
  agrees(whole: string, part: JsonObject): boolean {
    const sources = new Set(
      objectsIn(this.#citations.metadata, 'citations').map(({ raw }) => JSON.stringify(raw)),
    );
    const isKnown = (annotation: JsonObject) => sources.has(JSON.stringify(annotation));
    return this.#text.agrees(whole) && objectsIn(part, 'annotations').every(isKnown);
  }

  cite(annotation: JsonObject): void {
    if (add(this.#citations, annotation)) this.#text.sink?.metadata(this.#citations.metadata);
  }

  /** All sources, where the end of a message names them again. */
  settleCitations(part: JsonObject): void {
    const said = new Citations();
    for (const annotation of objectsIn(part, 'annotations')) add(said, annotation);
    if (said.isEmpty) return;
    const isKnown = JSON.stringify(said.metadata) === JSON.stringify(this.#citations.metadata);
    this.#citations = said;
    if (!isKnown) this.#text.sink?.metadata(said.metadata);
  }

  commit(providerState: ProviderState): void {
    this.#text.commit({ providerState });
  }

  retract(): void {
    this.#text.retract('withdrawn');
  }

  #begin(): TextBlock {
    // A refusal is never the output that was asked for.
    const block = new TextBlock(this.#writer, this.isRefusal ? { items: [] } : this.#request);
    if (this.isRefusal) block.metadata({ refusal: true });
    else if (!this.#citations.isEmpty) block.metadata(this.#citations.metadata);
    return block;
  }
}

function add(citations: Citations, annotation: JsonObject): boolean {
  // Some servers wrap a citation as Chat Completions does.
  const source = objectIn(annotation, 'url_citation') ?? annotation;
  const title = textIn(source, 'title') ?? textIn(source, 'filename');
  return citations.add({ url: textIn(source, 'url'), title, raw: annotation });
}

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
    return reasoningTexts(item).every(
      ({ form, index, whole }) =>
        this.#thoughts.get(keyOf(form, index))?.agrees(whole) ?? whole === '',
    );
  }

  override retract(): void {
    for (const thought of this.#thoughts.values()) thought.retract('withdrawn');
    this.#retractBare();
  }

  protected override finish(item: JsonObject): void {
    for (const { form, index, whole } of reasoningTexts(item))
      this.#thought(form, index).settle(whole);
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

interface ReasoningText {
  readonly form: Form;
  readonly index: number;
  readonly whole: string;
}

function reasoningTexts(item: JsonObject): readonly ReasoningText[] {
  const under = (key: string, form: Form) =>
    objectsIn(item, key).map((part, index) => ({ form, index, whole: textIn(part, 'text') ?? '' }));
  return [...under('summary', 'summary'), ...under('content', 'full')];
}
