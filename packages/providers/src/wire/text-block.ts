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

/**
 * A text part while it streams. If the request has an output schema, the text is JSON and becomes a
 * structured part at its end.
 */
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

  /** Commits the part. Text that is not valid JSON, for example a refusal, stays a text part. */
  commit(end: TextEnd = {}): void {
    const structured = this.#structured(this.#json);
    if (structured === undefined) this.#part.commit(end);
    else this.#replace(structured, end);
  }

  /** Commits the part with this text instead of the streamed one. */
  replace(text: string, end: TextEnd = {}): void {
    this.#replace(this.#structured(text) ?? { kind: 'text', text }, end);
  }

  /** Retracts the part, committed or not. */
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
