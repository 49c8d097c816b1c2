import type { EndOptions, RetractReason, TextWriter, ToolCallPart } from '@millrace/core';
import { PlainInputEncoder, plainInput } from '../../wire/plain-input.ts';

/** The destination of a streamed text. */
export interface TextSink {
  append(chunk: string): void;
  /** Commits the streamed text. */
  commit(end: EndOptions): void;
  /** Commits `text` instead of the streamed text. */
  replace(text: string, end: EndOptions): void;
  /** Retracts the text, committed or not. */
  retract(reason: RetractReason): void;
}

/**
 * A text that streams and is then repeated as a whole, once or several times. The last version
 * counts. Only its missing end is written.
 */
export class StreamedText<Sink extends TextSink> {
  readonly #begin: () => Sink | undefined;
  #sink: Sink | undefined;
  /** A copy of the streamed text, to compare with the whole one. */
  #streamed = '';
  /** The final text, if it differs from the streamed one. */
  #replacement: string | undefined;

  /**
   * `begin` creates the destination. It can return undefined while it is too early; then it is
   * called again.
   */
  constructor(begin: () => Sink | undefined) {
    this.#begin = begin;
  }

  /** Undefined until something is written. */
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

  /** Sets the whole text. Servers send '' if they do not repeat it. */
  setWhole(whole: string): void {
    if (whole === '') return;
    const isMore = whole.startsWith(this.#streamed);
    this.#replacement = isMore ? undefined : whole;
    if (isMore) this.append(whole.slice(this.#streamed.length));
  }

  /** True if this is the same text. */
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

/** The arguments of a function, written as they arrive. */
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

/** Plain text input, written as the JSON `{"input":"…"}`. It is valid JSON at the end. */
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
