import { type JsonObject, type JsonValue, parseJson, type ValueWriter } from '@millrace/core';
import { arrayIn, textIn } from '../json/fields.ts';
import type { BlockContext, OpenBlock } from './open-block.ts';

/**
 * Any other block: hosted tools, their results, a compaction, what is not known yet. It is kept as the
 * provider has it, with what streams into it put in its place.
 */
export class OpenCustom implements OpenBlock {
  readonly #context: BlockContext;
  readonly #start: JsonObject;
  readonly #part: ValueWriter;
  readonly #texts = new Map<string, string>();
  readonly #values = new Map<string, JsonValue>();
  readonly #cited: JsonValue[] = [];

  constructor(context: BlockContext, start: JsonObject) {
    this.#context = context;
    this.#start = start;
    this.#part = context.writer.custom(textIn(start, 'type') ?? 'block');
    this.#part.set(start);
  }

  delta({ type: _type, ...fields }: JsonObject): void {
    for (const [name, value] of Object.entries(fields)) {
      if (typeof value === 'string') this.#texts.set(name, (this.#texts.get(name) ?? '') + value);
      else if (name === 'citation') this.#cited.push(value);
      else if (value !== null) this.#values.set(name, value);
    }
  }

  close(): void {
    const hasGrown = this.#texts.size + this.#values.size + this.#cited.length > 0;
    if (hasGrown) this.#part.set(this.#grown());
    this.#part.commit({ providerState: this.#context.state({}) });
  }

  #grown(): JsonObject {
    const texts = [...this.#texts].map(([name, text]) =>
      name === 'partial_json' ? ['input', this.#input(text)] : [name, this.#text(name, text)],
    );
    const citations = [...arrayIn(this.#start, 'citations'), ...this.#cited];
    return {
      ...this.#start,
      ...Object.fromEntries([...texts, ...this.#values]),
      ...(this.#cited.length === 0 ? {} : { citations }),
    };
  }

  #text(name: string, text: string): string {
    const before = this.#start[name];
    return typeof before === 'string' ? before + text : text;
  }

  /** The value of what streamed; the text itself where it is no JSON after all. */
  #input(text: string): JsonValue {
    if (text === '') return this.#start['input'] ?? {};
    const parsed = parseJson(text);
    return parsed.ok ? parsed.value : text;
  }
}
