import type { EndOptions, RetractReason, TextWriter, ToolCallPart } from '@millrace/core';
import { PlainInputEncoder, plainInput } from '../../wire/plain-input.ts';

/** The destination to which a streamed text is written. */
export interface TextSink {
  append(chunk: string): void;
  /** Commits the streamed text. */
  commit(end: EndOptions): void;
  /** Commits `text` instead of the streamed text. */
  replace(text: string, end: EndOptions): void;
  /** Retracts the text, even if it is already committed. */
  retract(reason: RetractReason): void;
}

/**
 * A text that streams and that the API then repeats as a whole, once or several times. The last version is
 * used. If that version continues the streamed text, only the missing end is written.
 */
export class StreamedText<Sink extends TextSink> {
  readonly #begin: () => Sink | undefined;
  #sink: Sink | undefined;
  /** A copy of the streamed text. It is compared with the whole text. */
  #streamed = '';
  /** The final text, if it does not continue the streamed text. */
  #replacement: string | undefined;

  /**
   * `begin` creates the destination. If it is too early, `begin` returns undefined and is called again later.
   */
  constructor(begin: () => Sink | undefined) {
    this.#begin = begin;
  }

  /** The destination of the text. Undefined until the part begins. */
  get sink(): Sink | undefined {
    return this.#sink;
  }

  get text(): string {
    return this.#replacement ?? this.#streamed;
  }

  append(chunk: string): void {
    if (chunk === '') return;
    this.#streamed += chunk;
    if (this.#sink === undefined) this.start();
    else this.#sink.append(chunk);
  }

  /** Begins the part, with or without text. */
  start(): void {
    if (this.#sink !== undefined) return;
    this.#sink = this.#begin();
    if (this.#streamed !== '') this.#sink?.append(this.#streamed);
  }

  /** Sets the whole text. It ignores an empty text, which servers send if they do not repeat the text. */
  setWhole(whole: string): void {
    if (whole === '') return;
    const isMore = whole.startsWith(this.#streamed);
    this.#replacement = isMore ? undefined : whole;
    if (isMore) this.append(whole.slice(this.#streamed.length));
  }

  /**
   * Returns whether the whole text that the provider sent at the end equals the streamed text. An empty text
   * also counts as equal.
   */
  matches(whole: string): boolean {
    return whole === '' || whole === this.text;
  }

  commit(end: EndOptions = {}): void {
    if (this.#replacement === undefined) this.#sink?.commit(end);
    else this.#sink?.replace(this.#replacement, end);
  }

  retract(reason: RetractReason): void {
    this.#sink?.retract(reason);
    this.#sink = undefined;
  }
}

type CallHead = Pick<ToolCallPart, 'kind' | 'toolCallId' | 'name'>;

/** Writes the arguments of a function as they arrive. */
export class JsonInput implements TextSink {
  protected readonly part: TextWriter;
  readonly #call: CallHead;

  constructor(part: TextWriter, call: CallHead) {
    this.part = part;
    this.#call = call;
  }

  append(chunk: string): void {
    this.part.append(chunk);
  }

  commit(end: EndOptions): void {
    this.part.commit(end);
  }

  replace(text: string, { partial, providerState }: EndOptions): void {
    this.part.replace({
      ...this.#call,
      arguments: text,
      ...(partial === undefined ? {} : { partial }),
      ...(providerState === undefined ? {} : { providerState }),
    });
  }

  retract(reason: RetractReason): void {
    this.part.retract(reason);
  }
}

/** Writes plain text input as the JSON `{"input":"…"}`. The JSON becomes valid only at the end. */
export class PlainInput extends JsonInput {
  readonly #encoder = new PlainInputEncoder();

  constructor(part: TextWriter, call: CallHead) {
    super(part, call);
    part.append(PlainInputEncoder.start);
  }

  override append(chunk: string): void {
    this.part.append(this.#encoder.append(chunk));
  }

  override commit(end: EndOptions): void {
    this.part.append(this.#encoder.end());
    this.part.commit(end);
  }

  override replace(text: string, end: EndOptions): void {
    super.replace(plainInput(text), end);
  }
}
