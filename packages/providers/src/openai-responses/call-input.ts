import type { EndOptions, RetractReason, TextWriter, ToolCallPart } from '@millrace/core';
import type { TextSink } from './streamed-text.ts';

type Call = Pick<ToolCallPart, 'kind' | 'toolCallId' | 'name'>;

/** The arguments of a function, as they come. */
export class JsonInput implements TextSink {
  protected readonly part: TextWriter;
  readonly #call: Call;

  constructor(part: TextWriter, call: Call) {
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

  constructor(part: TextWriter, call: Call) {
    super(part, call);
    part.append('{"input":"');
  }

  override append(chunk: string): void {
    const text = this.#held + chunk;
    const cut = endsInHalf(text) ? text.length - 1 : text.length;
    this.#held = text.slice(cut);
    this.part.append(escaped(text.slice(0, cut)));
  }

  override commit(end: EndOptions): void {
    this.part.append(`${escaped(this.#held)}"}`);
    this.part.commit(end);
  }

  override replace(text: string, end: EndOptions): void {
    super.replace(`{"input":"${escaped(text)}"}`, end);
  }
}

function escaped(text: string): string {
  return JSON.stringify(text.toWellFormed()).slice(1, -1);
}

function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}
