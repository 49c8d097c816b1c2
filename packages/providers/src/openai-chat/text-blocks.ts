import type {
  DeltaWriter,
  JsonObject,
  ReasoningForm,
  ReasoningWriter,
  TextWriter,
} from '@millrace/core';
import { type LogprobEntry, Logprobs } from '../answer/logprobs.ts';
import { countIn, GrowingObject, textIn } from '../json/fields.ts';
import { type Citation, Citations } from '../wire/citations.ts';
import { TextBlock } from '../wire/text-block.ts';
import type { ReaderContext } from '../wire/wire.ts';

type SideTextKind = 'refusal' | 'transcript';

/** Maximum number of blocks that wait for a signature. No answer has this many blocks. */
const maxAwaitingSignature = 64;

/**
 * The text and reasoning parts of an answer, in order. The API has no blocks. When content of a different
 * kind arrives, the current part ends and a new part begins.
 */
export class TextBlocks {
  readonly #context: ReaderContext;
  readonly #owner: ReasoningOwner;
  readonly #citations = new Citations();
  #text: TextBlock | undefined;
  #reasoning: ReasoningBlock | undefined;
  /** Blocks that have ended but can still get a signature. */
  readonly #awaitingSignature: ReasoningBlock[] = [];
  readonly #blockOfDetail = new Map<string, ReasoningBlock>();
  readonly #detailKeys = new DetailKeys();
  /** Texts that are not part of the main answer: a refusal, or the transcript of audio. */
  readonly #sideTexts = new Map<SideTextKind, TextWriter>();
  #hadText = false;
  readonly #looseLogprobs = new Logprobs();

  readonly #onOpen: () => void;

  /** `onOpen` is called before each new part begins. */
  constructor(context: ReaderContext, owner: ReasoningOwner, onOpen: () => void) {
    this.#context = context;
    this.#owner = owner;
    this.#onOpen = onOpen;
  }

  get wasRefused(): boolean {
    return this.#sideTexts.has('refusal');
  }

  text(chunk: string): void {
    if (this.#text === undefined) {
      this.#beforeNewPart();
      this.#text = new TextBlock(this.#context.writer, this.#context.request);
      this.#hadText = true;
      if (!this.#citations.isEmpty) this.#text.sources(() => this.#citations.metadata);
    }
    this.#text.append(chunk);
  }

  reasoning(field: string, chunk: string): void {
    this.#openReasoning(field, false).append(chunk);
  }

  sideText(kind: SideTextKind, chunk: string): void {
    let part = this.#sideTexts.get(kind);
    if (part === undefined) {
      this.#beforeNewPart();
      part = this.#context.writer.text();
      part.metadata({ [kind]: true });
      this.#sideTexts.set(kind, part);
    }
    part.append(chunk);
  }

  /**
   * Adds one of OpenRouter's `reasoning_details`. Its text is used only if no other field of the delta
   * contains reasoning.
   */
  detail(detail: JsonObject, isTextCounted: boolean): void {
    const type = textIn(detail, 'type') ?? '';
    const key = this.#detailKeys.keyOf(detail);
    const text = textIn(detail, 'text') ?? textIn(detail, 'summary');
    const known = this.#blockOfDetail.get(key);
    const isLate = known !== undefined && text === undefined;
    const block = isLate ? known : this.#openReasoning('reasoning', type.endsWith('summary'));
    if (isTextCounted && text !== undefined) block.append(text);
    this.#blockOfDetail.set(key, block);
    block.addDetail(key, detail);
  }

  cite(citation: Citation): void {
    if (this.#citations.add(citation)) this.#text?.sources(() => this.#citations.metadata);
  }

  /**
   * Adds log probabilities to the open text or reasoning. If none is open, for example during a call, they
   * become a separate part at the end.
   */
  logprobs(entries: readonly LogprobEntry[]): void {
    const open = this.#text ?? this.#reasoning;
    if (open !== undefined) open.logprobs(entries);
    else this.#looseLogprobs.add(entries);
  }

  /** Ends the current part, because different content begins. */
  endCurrent(): void {
    // Structured output is one document, so different content does not end it.
    if (this.#context.request.output === undefined) this.#endText();
    if (this.#reasoning?.hasDetails) this.#awaitSignature(this.#reasoning);
    else this.#reasoning?.commit();
    this.#reasoning = undefined;
  }

  end(): void {
    const isUncited = !this.#hadText && !this.#citations.isEmpty;
    this.endCurrent();
    this.#endText();
    for (const block of this.#awaitingSignature) block.commit();
    for (const part of this.#sideTexts.values()) part.commit();
    if (isUncited)
      this.#context.writer.whole({
        kind: 'custom',
        name: 'citations',
        value: this.#citations.metadata,
      });
    this.#looseLogprobs.write(this.#context.writer);
  }

  #endText(): void {
    this.#text?.commit();
    this.#text = undefined;
  }

  #awaitSignature(block: ReasoningBlock): void {
    this.#awaitingSignature.push(block);
    if (this.#awaitingSignature.length > maxAwaitingSignature)
      this.#awaitingSignature.shift()?.commit();
  }

  #beforeNewPart(): void {
    this.endCurrent();
    this.#onOpen();
  }

  #openReasoning(field: string, isSummary: boolean): ReasoningBlock {
    if (this.#reasoning !== undefined) return this.#reasoning;
    this.#beforeNewPart();
    const { writer } = this.#context;
    const form = isSummary ? 'summary' : 'full';
    this.#reasoning = new ReasoningBlock(writer, this.#owner, field, form);
    return this.#reasoning;
  }
}

/** The fields in which servers send reasoning. Some servers send the same text in two of these fields. */
export const reasoningFieldNames: readonly string[] = [
  'reasoning_content',
  'reasoning',
  'reasoning_text',
];

interface ReasoningText {
  readonly field: string;
  readonly text: string;
}

export function reasoningIn(delta: JsonObject): ReasoningText | undefined {
  for (const field of reasoningFieldNames) {
    const text = textIn(delta, field);
    if (text !== undefined) return { field, text };
  }
  return undefined;
}

export interface ReasoningOwner {
  readonly provider: string;
  readonly model: string;
}

/**
 * One reasoning part. It merges fragments of OpenRouter's `reasoning_details` and stores the merged list.
 * Later requests can then send the list back.
 */
class ReasoningBlock {
  readonly #part: ReasoningWriter;
  readonly #owner: ReasoningOwner;
  readonly #field: string;
  readonly #details = new Map<string, GrowingObject>();
  /** The log probabilities. Undefined if the request did not ask for log probabilities. */
  #logprobs: Logprobs | undefined;

  constructor(writer: DeltaWriter, owner: ReasoningOwner, field: string, form: ReasoningForm) {
    this.#part = writer.reasoning(form);
    this.#owner = owner;
    this.#field = field;
  }

  append(text: string): void {
    this.#part.append(text);
  }

  logprobs(entries: readonly LogprobEntry[]): void {
    this.#logprobs ??= new Logprobs();
    this.#logprobs.add(entries);
  }

  /**
   * Adds a detail. Fragments with the same key are merged. The signature can arrive last, in a separate
   * fragment.
   */
  addDetail(key: string, detail: JsonObject): void {
    const known = this.#details.get(key) ?? new GrowingObject();
    this.#details.set(key, known);
    mergeDetail(known, detail);
  }

  get hasDetails(): boolean {
    return this.#details.size > 0;
  }

  commit(): void {
    const details = this.hasDetails
      ? { details: [...this.#details.values()].map(({ value }) => value) }
      : {};
    const data = { field: this.#field, ...details };
    if (this.#logprobs !== undefined) this.#part.metadata(this.#logprobs.metadata);
    this.#part.commit({ providerState: { ...this.#owner, data } });
  }
}

const growing: readonly string[] = ['text', 'summary', 'data'];

function mergeDetail(known: GrowingObject, detail: JsonObject): void {
  const isFirst = known.isEmpty;
  for (const [key, value] of Object.entries(detail)) {
    if (!isFirst && (value === null || value === '')) continue;
    const before = known.get(key);
    const grows = growing.includes(key) && typeof before === 'string' && typeof value === 'string';
    known.set(key, grows ? before + value : value);
  }
}

/**
 * Assigns keys to OpenRouter's `reasoning_details`. Fragments of the same detail get the same key.
 */
class DetailKeys {
  readonly #latest = new Map<string, { readonly key: string; id: string | undefined }>();
  #count = 0;

  /**
   * Returns the key of a detail. Details with the same type and index belong together, if their ids do not
   * differ. Encrypted details without an index arrive complete, so each gets its own key.
   */
  keyOf(detail: JsonObject): string {
    const type = textIn(detail, 'type') ?? '';
    const index = countIn(detail, 'index');
    const id = textIn(detail, 'id');
    const position = `${type} ${index ?? ''}`;
    const known = this.#latest.get(position);
    const isWhole = index === undefined && type.endsWith('encrypted');
    const isOther = id !== undefined && known?.id !== undefined && known.id !== id;
    if (known !== undefined && !isWhole && !isOther) {
      known.id ??= id;
      return known.key;
    }
    const key = `${position} ${this.#count++}`;
    this.#latest.set(position, { key, id });
    return key;
  }
}
