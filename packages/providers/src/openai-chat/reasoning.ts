import type { DeltaWriter, JsonObject, ReasoningForm, ReasoningWriter } from '@millrace/core';
import { textIn } from '../json/fields.ts';

/** Where servers put reasoning; some put the same text into two of them. */
export const reasoningFieldNames: readonly string[] = [
  'reasoning_content',
  'reasoning',
  'reasoning_text',
];

export interface ReasoningText {
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

/** A stretch of reasoning. OpenRouter's details of it go back to OpenRouter as one merged list. */
export class ReasoningBlock {
  readonly #part: ReasoningWriter;
  readonly #owner: ReasoningOwner;
  readonly #field: string;
  readonly #details = new Map<string, JsonObject>();

  constructor(writer: DeltaWriter, owner: ReasoningOwner, field: string, form: ReasoningForm) {
    this.#part = writer.reasoning(form);
    this.#owner = owner;
    this.#field = field;
  }

  append(text: string): void {
    this.#part.append(text);
  }

  /** Fragments of one type and index are one detail; its signature may come alone, and last. */
  addDetail(key: string, detail: JsonObject): void {
    this.#details.set(key, mergeDetail(this.#details.get(key), detail));
  }

  get hasDetails(): boolean {
    return this.#details.size > 0;
  }

  commit(): void {
    const details = this.hasDetails ? { details: [...this.#details.values()] } : {};
    const data = { field: this.#field, ...details };
    this.#part.commit({ providerState: { ...this.#owner, data } });
  }
}

const growing: readonly string[] = ['text', 'summary', 'data'];

function mergeDetail(known: JsonObject | undefined, detail: JsonObject): JsonObject {
  if (known === undefined) return detail;
  const said = Object.entries(detail).filter(([, value]) => value !== null && value !== '');
  const merged = said.map(([key, value]) => {
    const before = known[key];
    const grows = growing.includes(key) && typeof before === 'string' && typeof value === 'string';
    return [key, grows ? before + value : value] as const;
  });
  return { ...known, ...Object.fromEntries(merged) };
}
