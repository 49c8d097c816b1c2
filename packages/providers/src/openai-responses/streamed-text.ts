import type { EndOptions, RetractReason } from '@millrace/core';

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
  #instead: string | undefined;

  /** `begin` is asked with the first character, and again with each as long as it is too early. */
  constructor(begin: () => Sink | undefined) {
    this.#begin = begin;
  }

  /** Undefined as long as nothing was written. */
  get sink(): Sink | undefined {
    return this.#sink;
  }

  get text(): string {
    return this.#instead ?? this.#streamed;
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
  settle(whole: string): void {
    if (whole === '') return;
    const isMore = whole.startsWith(this.#streamed);
    this.#instead = isMore ? undefined : whole;
    if (isMore) this.append(whole.slice(this.#streamed.length));
  }

  /** Does this say the same? */
  agrees(whole: string): boolean {
    return whole === '' || whole === this.text;
  }

  commit(end: EndOptions = {}): void {
    if (this.#instead === undefined) this.#sink?.commit(end);
    else this.#sink?.replace(this.#instead, end);
  }

  retract(reason: RetractReason): void {
    this.#sink?.retract(reason);
    this.#sink = undefined;
  }
}
