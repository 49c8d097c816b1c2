import {
  type DeltaWriter,
  type EndOptions,
  type Metadata,
  type Part,
  parseJson,
  type RetractReason,
  type TextWriter,
} from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';

type TextEnd = Pick<EndOptions, 'providerState'>;

/** Text that streams. Where a schema was asked for it is JSON, and ends as a structured part. */
export class TextBlock {
  readonly #part: TextWriter;
  readonly #outputName: string | undefined;
  #json = '';
  #metadata: Metadata | undefined;

  constructor(writer: DeltaWriter, { output }: ModelRequest) {
    this.#outputName = output?.name;
    this.#part = writer.text(output === undefined ? {} : { mimeType: 'application/json' });
  }

  /** In UTF-16 units. */
  get length(): number {
    return this.#part.length;
  }

  append(chunk: string): void {
    this.#part.append(chunk);
    if (this.#outputName !== undefined) this.#json += chunk;
  }

  metadata(metadata: Metadata): void {
    this.#metadata = metadata;
    this.#part.metadata(metadata);
  }

  /** The part is whole. What is no JSON after all, a refusal for instance, stays the text that it is. */
  commit(end: TextEnd = {}): void {
    const structured = this.#structured(this.#json);
    if (structured === undefined) this.#part.commit(end);
    else this.#replace(structured, end);
  }

  /** The part is whole, and this is its text instead of what streamed. */
  replace(text: string, end: TextEnd = {}): void {
    this.#replace(this.#structured(text) ?? { kind: 'text', text }, end);
  }

  /** Takes it back, committed or not. */
  retract(reason: RetractReason): void {
    this.#part.retract(reason);
  }

  #structured(json: string): Part | undefined {
    if (this.#outputName === undefined) return undefined;
    const parsed = parseJson(json);
    if (!parsed.ok) return undefined;
    return { kind: 'structured', value: parsed.value, name: this.#outputName };
  }

  #replace(part: Part, { providerState }: TextEnd): void {
    this.#part.replace({
      ...part,
      ...(this.#metadata === undefined ? {} : { metadata: this.#metadata }),
      ...(providerState === undefined ? {} : { providerState }),
    });
  }
}
