import { type ToolCallId, toolCallId } from '@millrace/core';
import { fault, type WireFault } from '../errors/wire-fault.ts';

/**
 * The rule for the tool call ids that a provider accepts. An invalid id is replaced by a hash, because
 * shortened ids could collide.
 */
export interface ToolCallIdRule {
  /** The pattern that a valid id matches. */
  readonly form: RegExp;
  /** The length of a replacement id, in characters. */
  readonly length: number;
}

/**
 * The rule for providers that do not document a rule. It uses OpenAI's limit, which is the lowest limit of
 * all providers.
 */
export const defaultIdRule: ToolCallIdRule = { form: /^[\x21-\x7e]{1,40}$/, length: 24 };

/** Assigns a unique id to each call of a request. A call keeps its id if the id is valid and not used yet. */
export class ToolCallIds {
  readonly #rule: ToolCallIdRule;
  readonly #used = new Set<string>();
  /** How many hashes of an id were tried. */
  readonly #tried = new Map<ToolCallId, number>();
  /** The next number to try. */
  #count = 0;

  constructor(rule: ToolCallIdRule) {
    this.#rule = rule;
  }

  next(id: ToolCallId): ToolCallId {
    for (const candidate of this.#candidates(id)) {
      if (this.#used.has(candidate)) continue;
      this.#used.add(candidate);
      return toolCallId(candidate);
    }
    throw idsExhausted(this.#rule);
  }

  /**
   * Returns the ids to try: the id itself or its hash, then other hashes, and then numbers. There are more
   * numbers than used ids, so one number is free. It never returns a candidate again, because a used id stays used.
   * Otherwise thousands of calls with the same id would need quadratic time.
   */
  *#candidates(id: ToolCallId): Generator<string> {
    const { form, length } = this.#rule;
    for (let again = this.#tried.get(id) ?? 0; again <= maxHashes; again++) {
      this.#tried.set(id, again + 1);
      if (again > 0) yield hashedId(`${id}#${again}`, length);
      else yield form.test(id) ? id : hashedId(id, length);
    }
    while (this.#count <= this.#used.size) yield numberedId(this.#count++, length);
  }
}

const maxHashes = 8;

function idsExhausted({ length }: ToolCallIdRule): WireFault {
  const limit = `the provider's ids of ${length} characters are too few for the calls in the history`;
  return fault('invalid_request', `${limit}; compact it`);
}

const digits = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';

/**
 * Returns a text of letters and digits that depends on the whole input. For each character of the result, it
 * computes one FNV-1a hash.
 */
function hashedId(text: string, length: number): string {
  let state = 0x811c9dc5;
  const mix = (unit: number) => {
    state = Math.imul(state ^ unit, 0x01000193) >>> 0;
  };
  for (let index = 0; index < text.length; index++) mix(text.charCodeAt(index));
  return Array.from({ length }, (_, position) => {
    for (let index = 0; index < text.length; index++) mix(text.charCodeAt(index) + position);
    return digits.charAt((state >>> 8) % digits.length);
  }).join('');
}

/**
 * Returns the number in base 62, with exactly `length` digits. If the number has more digits, the first
 * digits are dropped.
 */
function numberedId(count: number, length: number): string {
  let rest = count;
  const characters = Array.from({ length }, () => {
    const digit = digits.charAt(rest % digits.length);
    rest = Math.floor(rest / digits.length);
    return digit;
  });
  return characters.reverse().join('');
}
