import type { EndOptions, RetractReason, TextWriter, ToolCallPart } from '@millrace/core';

/** What text streams into. */
export interface TextSink {
  append(chunk: string): void;
  /** What streamed is the text. */
  commit(end: EndOptions): void;
  /** This is the text instead. */
  replace(text: string, end: EndOptions): void;
  /** Takes it back, committed or not. */
  retract(reason: RetractReason): void;
}

/**
 * A text that streams and is said again as a whole, once or several times: the last that is said
 * counts, and of what is said again only the missing end is written.
 */
export class StreamedText<Sink extends TextSink> {
  readonly #begin: () => Sink | undefined;
  #sink: Sink | undefined;
  /** Beside the part, to hold against it what comes whole. */
  #streamed = '';
  /** The text, where something else streamed. */
  #replacement: string | undefined;

  /** `begin` is asked with the first character, and again with each as long as it is too early. */
  constructor(begin: () => Sink | undefined) {
    this.#begin = begin;
  }

  /** Undefined as long as nothing was written. */
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

  /** This is the text. Servers say '' for what they do not repeat. */
  setWhole(whole: string): void {
    if (whole === '') return;
    const isMore = whole.startsWith(this.#streamed);
    this.#replacement = isMore ? undefined : whole;
    if (isMore) this.append(whole.slice(this.#streamed.length));
  }

  /** Does this say the same? */
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

/** The arguments of a function, as they come. */
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

/**
 * Input that is plain text, as the JSON `{"input":"…"}` that the arguments of a call are: a beginning
 * of it at any time, and valid at the end.
 */
export class PlainInput extends JsonInput {
  /** A high surrogate whose partner has not come yet: escaped by itself it would stay alone. */
  #held = '';

  constructor(part: TextWriter, call: CallHead) {
    super(part, call);
    part.append('{"input":"');
  }

  override append(chunk: string): void {
    const text = this.#held + chunk;
    const cut = endsInHighSurrogate(text) ? text.length - 1 : text.length;
    this.#held = text.slice(cut);
    this.part.append(jsonEscaped(text.slice(0, cut)));
  }

  override commit(end: EndOptions): void {
    this.part.append(`${jsonEscaped(this.#held)}"}`);
    this.part.commit(end);
  }

  override replace(text: string, end: EndOptions): void {
    super.replace(`{"input":"${jsonEscaped(text)}"}`, end);
  }
}

function jsonEscaped(text: string): string {
  return JSON.stringify(text.toWellFormed()).slice(1, -1);
}

function endsInHighSurrogate(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}
