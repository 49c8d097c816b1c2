import { type ToolCallId, toolCallId } from '@millrace/core';

/** Which ids a provider takes. Others are replaced by a hash, which cannot collide as a cut could. */
export interface IdRule {
  readonly form: RegExp;
  /** How many characters a replacement has. */
  readonly length: number;
}

/** What all take that say nothing else: OpenAI's limit is the lowest. */
export const anyId: IdRule = { form: /^[\x21-\x7e]{1,40}$/, length: 24 };

/** Gives each call an id of its own within one request: the one it has, wherever that fits and is free. */
export class ToolCallIds {
  readonly #rule: IdRule;
  readonly #used = new Set<string>();

  constructor(rule: IdRule) {
    this.#rule = rule;
  }

  next(id: ToolCallId): ToolCallId {
    const { form, length } = this.#rule;
    let fitted: string = form.test(id) ? id : hash(id, length);
    // Bounded: each round gives another text, and there are fewer ids in use than rounds.
    for (let again = 1; this.#used.has(fitted); again++) fitted = hash(`${id}#${again}`, length);
    this.#used.add(fitted);
    return toolCallId(fitted);
  }
}

const digits = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';

/** Letters and digits that depend on the whole text: FNV-1a, once for each character of the result. */
function hash(text: string, length: number): string {
  let state = 0x811c9dc5;
  const mix = (unit: number) => {
    state = Math.imul(state ^ unit, 0x01000193) >>> 0;
  };
  for (let index = 0; index < text.length; index++) mix(text.charCodeAt(index));
  return Array.from({ length }, (_, place) => {
    for (let index = 0; index < text.length; index++) mix(text.charCodeAt(index) + place);
    return digits.charAt((state >>> 8) % digits.length);
  }).join('');
}
