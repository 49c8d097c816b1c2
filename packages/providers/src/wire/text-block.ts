import {
  type DeltaWriter,
  type EndOptions,
  type Metadata,
  type Part,
  parseJson,
  type RetractReason,
  type TextWriter,
} from '@millrace/core';
import { type LogprobEntry, Logprobs } from '../answer/logprobs.ts';
import type { ModelRequest } from '../contract/model-request.ts';

type TextEnd = Pick<EndOptions, 'providerState'>;

/**
 * Maximum length of the sources that all texts of an answer write, in characters of JSON. Each text can write all
 * sources of the answer. No answer needs as much.
 */
const maxSourceLength = 4 * 2 ** 20;

/** The length of the sources that the texts of each answer have written. An answer has one writer. */
const sourceLengths = new WeakMap<DeltaWriter, number>();

/**
 * A text part while it streams. If the request has an output schema, the text is JSON and becomes a
 * structured part at its end.
 */
export class TextBlock {
  readonly #part: TextWriter;
  readonly #writer: DeltaWriter;
  readonly #outputName: string | undefined;
  #json = '';
  #metadata: Metadata | undefined;
  /** Returns the sources of the text. Undefined if they are written. */
  #unwritten: (() => Metadata) | undefined;
  #changes = 0;
  /** The log probabilities. Undefined if the request did not ask for log probabilities. */
  #logprobs: Logprobs | undefined;

  constructor(writer: DeltaWriter, { output }: ModelRequest) {
    this.#outputName = output?.name;
    this.#writer = writer;
    this.#part = writer.text(output === undefined ? {} : { mimeType: 'application/json' });
  }

  /** The length of the text, in UTF-16 units. */
  get length(): number {
    return this.#part.length;
  }

  append(chunk: string): void {
    this.#part.append(chunk);
    if (this.#outputName !== undefined) this.#json += chunk;
  }

  /** Sets fields of the metadata. Other fields are kept. */
  metadata(fields: Metadata): void {
    this.#metadata = { ...this.#metadata, ...fields };
    this.#part.metadata(this.#metadata);
  }

  /**
   * Notes that the sources of the text have changed. They are written after 1, 2, 4, 8 … changes and at the end of the
   * part, because each write contains all of them. A provider could otherwise make the log grow by 100 kB with each
   * small event.
   */
  sources(read: () => Metadata): void {
    this.#unwritten = read;
    this.#changes++;
    if (Number.isInteger(Math.log2(this.#changes))) this.#writeSources();
  }

  #writeSources(): void {
    const read = this.#unwritten;
    const before = sourceLengths.get(this.#writer) ?? 0;
    this.#unwritten = undefined;
    if (read === undefined || before > maxSourceLength) return;
    const fields = read();
    const length = before + JSON.stringify(fields).length;
    sourceLengths.set(this.#writer, length);
    // After the first sources that are too long, no others are read.
    if (length <= maxSourceLength) this.metadata(fields);
  }

  /** Adds the log probabilities of tokens. They are written when the part is committed. */
  logprobs(entries: readonly LogprobEntry[]): void {
    this.#logprobs ??= new Logprobs();
    this.#logprobs.add(entries);
  }

  /** Replaces the log probabilities with a complete list. Some APIs send this list when a text ends. */
  setLogprobs(entries: readonly LogprobEntry[]): void {
    this.#logprobs = undefined;
    this.logprobs(entries);
  }

  /** Commits the part. If the text is not valid JSON, for example a refusal, it stays a text part. */
  commit(end: TextEnd = {}): void {
    const structured = this.#structured(this.#json);
    this.#writeSources();
    this.#writeLogprobs();
    if (structured === undefined) this.#part.commit(end);
    else this.#replace(structured, end);
  }

  /** Commits the part with this text instead of the streamed text. */
  replace(text: string, end: TextEnd = {}): void {
    this.#writeSources();
    this.#writeLogprobs();
    this.#replace(this.#structured(text) ?? { kind: 'text', text }, end);
  }

  /** Retracts the part, even if it is already committed. */
  retract(reason: RetractReason): void {
    this.#part.retract(reason);
  }

  #writeLogprobs(): void {
    if (this.#logprobs !== undefined && !this.#logprobs.isEmpty)
      this.metadata(this.#logprobs.metadata);
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
