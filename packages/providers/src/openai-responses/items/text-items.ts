import {
  type DeltaWriter,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type ProviderState,
} from '@millrace/core';
import { openaiLogprobs } from '../../answer/logprobs.ts';
import type { ModelRequest } from '../../contract/model-request.ts';
import { objectIn, objectsIn, textIn } from '../../json/fields.ts';
import { Citations } from '../../wire/citations.ts';
import { TextBlock } from '../../wire/text-block.ts';
import { OutputItem } from './output-item.ts';
import { StreamedText, type TextSink } from './streamed-text.ts';

/** A message of the model. It consists of texts and refusals, each of which has a content index. */
export class MessageItem extends OutputItem {
  readonly type = 'message';
  readonly #texts = new Map<number, ContentText>();

  get isRefused(): boolean {
    return [...this.#texts.values()].some(({ isRefusal, isEmpty }) => isRefusal && !isEmpty);
  }

  override get isEmpty(): boolean {
    return [...this.#texts.values()].every(({ isEmpty }) => isEmpty);
  }

  append(contentIndex: number, chunk: string, isRefusal: boolean, logprobs?: JsonValue): void {
    if (this.isClosed) return;
    const text = this.#textAt(contentIndex, isRefusal);
    text.append(chunk);
    // If the request did not ask for log probabilities, the list is empty.
    if (Array.isArray(logprobs) && logprobs.length > 0)
      text.addLogprobs(logprobs.filter(isJsonObject));
  }

  setWhole(contentIndex: number, whole: string, isRefusal: boolean): void {
    if (!this.isClosed) this.#textAt(contentIndex, isRefusal).setWhole(whole);
  }

  cite(contentIndex: number, annotation: JsonObject): void {
    if (!this.isClosed) this.#textAt(contentIndex, false).cite(annotation);
  }

  /** Replaces all citations with those of the event that ends the text, if that event has any. */
  setCitations(contentIndex: number, part: JsonObject): void {
    if (!this.isClosed) this.#textAt(contentIndex, false).setCitations(part);
  }

  /** Replaces all log probabilities with those of the event that ends the text, if that event has any. */
  setLogprobs(contentIndex: number, part: JsonObject): void {
    if (!this.isClosed) this.#texts.get(contentIndex)?.setLogprobs(part);
  }

  override matches(item: JsonObject): boolean {
    return objectsIn(item, 'content').every((part, index) => {
      const { whole } = contentText(part);
      return this.#texts.get(index)?.matches(whole, part) ?? whole === '';
    });
  }

  override retract(): void {
    for (const text of this.#texts.values()) text.retract();
  }

  protected override finish(item: JsonObject): void {
    for (const [index, part] of objectsIn(item, 'content').entries()) {
      const { whole, isRefusal } = contentText(part);
      const text = this.#textAt(index, isRefusal);
      text.setWhole(whole);
      if (!isRefusal) text.setCitations(part);
      text.setLogprobs(part);
    }
    this.#commit();
  }

  protected override endWithoutDone(): void {
    this.#commit();
  }

  #textAt(contentIndex: number, isRefusal: boolean): ContentText {
    const known = this.#texts.get(contentIndex);
    if (known !== undefined && (known.isRefusal === isRefusal || !known.isEmpty)) return known;
    const { writer, request } = this.context;
    const text = new ContentText(writer, request, isRefusal);
    this.#texts.set(contentIndex, text);
    return text;
  }

  #commit(): void {
    // The phase is commentary or final answer. Models perform worse if it is not sent back.
    const phase = textIn(this.fields, 'phase');
    const state = this.state({
      type: this.type,
      ...(this.id === undefined ? {} : { id: this.id }),
      ...(phase === undefined ? {} : { phase }),
    });
    for (const text of this.#texts.values()) text.commit(state);
  }
}

function contentText(part: JsonObject): { readonly whole: string; readonly isRefusal: boolean } {
  const refusal = textIn(part, 'refusal');
  return { whole: refusal ?? textIn(part, 'text') ?? '', isRefusal: refusal !== undefined };
}

/** One content of a message: a text with its citations, or a refusal. */
class ContentText {
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

  setWhole(whole: string): void {
    this.#text.setWhole(whole);
  }

  /** Returns whether the text is the same and all its citations are already known. */
  matches(whole: string, part: JsonObject): boolean {
    const sources = new Set(
      objectsIn(this.#citations.metadata, 'citations').map(({ raw }) => JSON.stringify(raw)),
    );
    const isKnown = (annotation: JsonObject) => sources.has(JSON.stringify(annotation));
    return this.#text.matches(whole) && objectsIn(part, 'annotations').every(isKnown);
  }

  cite(annotation: JsonObject): void {
    if (addCitation(this.#citations, annotation))
      this.#text.sink?.sources(() => this.#citations.metadata);
  }

  /** Replaces all citations with those of the finished content, if it has any. */
  setCitations(part: JsonObject): void {
    const citations = new Citations();
    for (const annotation of objectsIn(part, 'annotations')) addCitation(citations, annotation);
    if (citations.isEmpty) return;
    const isKnown = JSON.stringify(citations.metadata) === JSON.stringify(this.#citations.metadata);
    this.#citations = citations;
    if (!isKnown) this.#text.sink?.sources(() => citations.metadata);
  }

  addLogprobs(entries: readonly JsonObject[]): void {
    this.#text.sink?.logprobs(openaiLogprobs(entries));
  }

  setLogprobs(part: JsonObject): void {
    const entries = objectsIn(part, 'logprobs');
    if (entries.length > 0) this.#text.sink?.setLogprobs(openaiLogprobs(entries));
  }

  commit(providerState: ProviderState): void {
    this.#text.commit({ providerState });
  }

  retract(): void {
    this.#text.retract('withdrawn');
  }

  #begin(): TextBlock {
    // A refusal is never the requested structured output.
    const block = new TextBlock(this.#writer, this.isRefusal ? { items: [] } : this.#request);
    if (this.isRefusal) block.metadata({ refusal: true });
    else if (!this.#citations.isEmpty) block.sources(() => this.#citations.metadata);
    return block;
  }
}

function addCitation(citations: Citations, annotation: JsonObject): boolean {
  // Some servers put a citation into a `url_citation` object, as Chat Completions does.
  const source = objectIn(annotation, 'url_citation') ?? annotation;
  const title = textIn(source, 'title') ?? textIn(source, 'filename');
  return citations.add({ url: textIn(source, 'url'), title, raw: annotation });
}

type Form = 'summary' | 'full';
type StreamedReasoning = StreamedText<TextSink>;

/**
 * Reasoning as summaries, or as full text for open models. Each text is a part. The parts stay open until the
 * end of the item, because the state for the first part is known only then.
 */
export class ReasoningItem extends OutputItem {
  readonly type = 'reasoning';
  /** The texts, in the order in which they began. */
  readonly #texts = new Map<number, StreamedReasoning>();
  #isEncrypted = false;
  #retractEmptyPart = (): void => {};

  append(form: Form, index: number, chunk: string): void {
    if (!this.isClosed) this.#textAt(form, index).append(chunk);
  }

  setWhole(form: Form, index: number, whole: string): void {
    if (!this.isClosed) this.#textAt(form, index).setWhole(whole);
  }

  /** Sets reasoning that a server sends as output text. It is ignored if a summary has the same text. */
  setWholeContent(index: number, whole: string): void {
    const isKnown = this.#started.some(({ text }) => text === whole);
    if (!isKnown) this.setWhole('full', index, whole);
  }

  override matches(item: JsonObject): boolean {
    // Encrypted content differs in each event. Every version is valid, but there must be one.
    if (textIn(item, 'encrypted_content') !== undefined && !this.#isEncrypted) return false;
    return reasoningTexts(item).every(
      ({ form, index, whole }) =>
        this.#texts.get(keyOf(form, index))?.matches(whole) ?? whole === '',
    );
  }

  override retract(): void {
    for (const text of this.#texts.values()) text.retract('withdrawn');
    this.#retractEmptyPart();
  }

  protected override finish(item: JsonObject): void {
    for (const { form, index, whole } of reasoningTexts(item))
      this.#textAt(form, index).setWhole(whole);
    this.#isEncrypted = textIn(item, 'encrypted_content') !== undefined;
    const providerState = { ...this.context.owner, data: item };
    const [first, ...others] = this.#started;
    first?.commit({ providerState });
    for (const text of others) text.commit();
    if (first !== undefined) return;
    const { writer } = this.context;
    const partId = writer.whole({ kind: 'reasoning', text: '', form: 'redacted', providerState });
    this.#retractEmptyPart = () => writer.retract(partId, 'withdrawn');
  }

  /** Commits the texts. Without the end of the item, there is no state to send back. */
  protected override endWithoutDone(): void {
    for (const text of this.#started) text.commit();
  }

  get #started(): readonly StreamedReasoning[] {
    return [...this.#texts.values()].filter(({ sink }) => sink !== undefined);
  }

  #textAt(form: Form, index: number): StreamedReasoning {
    const key = keyOf(form, index);
    const known = this.#texts.get(key);
    if (known !== undefined) return known;
    const text: StreamedReasoning = new StreamedText(() => sinkOf(this.context.writer, form));
    this.#texts.set(key, text);
    return text;
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

/**
 * Returns one key for a form and an index. Summaries get numbers from 0 upward, and full texts get negative
 * numbers.
 */
function keyOf(form: Form, index: number): number {
  return form === 'summary' ? index : -1 - index;
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
