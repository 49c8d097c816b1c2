import { type JsonObject, parseJson } from '@millrace/core';
import type { Owner } from '../history/own-parts.ts';
import { TextBlock } from '../wire/text-block.ts';
import type { ReaderContext } from '../wire/wire.ts';
import { partState } from './part-state.ts';

/**
 * Text of the answer while it streams. A signed piece is a part of its own, but JSON that was asked
 * for is one value: its pieces are kept beside it, and go back as they came.
 */
export class AnswerText extends TextBlock {
  readonly #owner: Owner;
  readonly #isJson: boolean;
  readonly #pieces: JsonObject[] = [];
  #unsigned = '';

  constructor({ writer, request }: ReaderContext, owner: Owner) {
    super(writer, request);
    this.#owner = owner;
    this.#isJson = request.output !== undefined;
  }

  override append(chunk: string): void {
    super.append(chunk);
    if (this.#isJson) this.#unsigned += chunk;
  }

  appendSigned(text: string, thoughtSignature: string): void {
    super.append(text);
    this.#cut();
    this.#pieces.push({ text, thoughtSignature });
  }

  /** Does it begin like JSON that was asked for, and is not at its end? */
  get isUnfinished(): boolean {
    if (!this.#isJson) return false;
    const text = this.#pieces.map((piece) => piece['text']).join('') + this.#unsigned;
    return /^\s*[[{"]/.test(text) && !parseJson(text).ok;
  }

  end(): void {
    if (this.#pieces.length === 0) return this.commit();
    this.#cut();
    this.commit({ providerState: partState(this.#owner, { parts: this.#pieces }) });
  }

  #cut(): void {
    if (this.#unsigned !== '') this.#pieces.push({ text: this.#unsigned });
    this.#unsigned = '';
  }
}
