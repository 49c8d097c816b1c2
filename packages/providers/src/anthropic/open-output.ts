import { type JsonObject, parseJson, type TextWriter } from '@millrace/core';
import {
  type BlockContext,
  type BlockEnd,
  fragmentOf,
  type OpenBlock,
  startedInput,
} from './open-block.ts';

/** The output that was asked for, as the input of the tool that takes it. */
export class OpenOutput implements OpenBlock {
  readonly #start: JsonObject;
  readonly #part: TextWriter;
  readonly #name: string;
  /** Only looked at when it is whole. */
  #json = '';

  constructor({ writer, request, outputTool = '' }: BlockContext, start: JsonObject) {
    this.#start = start;
    this.#part = writer.text({ mimeType: 'application/json' });
    this.#name = request.output?.name ?? outputTool;
  }

  delta(delta: JsonObject): void {
    this.#append(fragmentOf(delta));
  }

  /** What is no JSON is nothing yet, or was cut off: the end of the message tells. */
  get waits(): boolean {
    return !parseJson(this.#json || startedInput(this.#start)).ok;
  }

  close(end?: BlockEnd): void {
    const isCut = end?.isCut === true;
    if (this.#json === '') this.#append(startedInput(this.#start) || (isCut ? '' : '{}'));
    const parsed = parseJson(this.#json);
    if (parsed.ok) {
      this.#part.replace({ kind: 'structured', value: parsed.value, name: this.#name });
    } else if (this.#json === '') this.#part.retract('cut');
    else this.#part.commit(isCut ? { partial: true } : {});
  }

  #append(fragment: string): void {
    this.#json += fragment;
    this.#part.append(fragment);
  }
}
