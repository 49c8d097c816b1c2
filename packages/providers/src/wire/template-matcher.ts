import type { LastAppend } from './wire.ts';

/** A message that is split at the only string that changes. */
interface MessageTemplate {
  readonly event: string | undefined;
  /** The text of the message up to and including the opening quote of the string. */
  readonly before: string;
  /** The text of the message from the closing quote of the string to the end. */
  readonly after: string;
  readonly append: (text: string) => void;
}

/** Maximum number of templates. It is sufficient for all parts that stream at the same time. */
const maxTemplates = 32;
/**
 * After this number of consecutive misses, matching is turned off, because the messages of this server always
 * differ.
 */
const maxMisses = 48;

/**
 * Avoids parsing most messages of a stream, because they differ only in the appended text. If the rest of a
 * message equals an earlier message, the message has the same effect, but with a different text.
 */
export class TemplateMatcher {
  #templates: MessageTemplate[] = [];
  /**
   * The index of the template that matched last. The search starts there, because parts that stream
   * alternately repeat their order.
   */
  #last = 0;
  #misses = 0;

  /** Applies the message if it matches a template. Returns false if the message must be parsed. */
  apply(data: string, event: string | undefined): boolean {
    const { length } = this.#templates;
    for (let step = 0; step < length; step++) {
      const position = (this.#last + step) % length;
      const template = this.#templates[position];
      if (template === undefined || template.event !== event) continue;
      const text = textBetween(data, template.before, template.after);
      if (text === undefined) continue;
      this.#last = position;
      this.#misses = 0;
      template.append(text);
      return true;
    }
    this.#misses++;
    // If no template matches, comparing costs more time than it saves.
    if (this.#misses === maxMisses) this.#templates = [];
    return false;
  }

  get wantsMore(): boolean {
    return this.#templates.length < maxTemplates && this.#misses < maxMisses;
  }

  /** Adds a template for a parsed message, if the position of the text is unambiguous. */
  learn(data: string, event: string | undefined, { text, append }: LastAppend): void {
    const literal = JSON.stringify(text);
    const at = positionOfValue(data, literal);
    if (at === undefined || text === '') return;
    const before = data.slice(0, at + 1);
    const after = data.slice(at + literal.length - 1);
    // The message can contain the same text with different escapes. The match could then be a different
    // string.
    if (before.includes('\\') || after.includes('\\')) return;
    this.#last = this.#templates.length;
    this.#templates.push({ event, before, after, append });
  }
}

/**
 * Returns the position at which the literal is the value of a key. Returns undefined if there is no such
 * position, or more than one.
 */
function positionOfValue(data: string, literal: string): number | undefined {
  const positions = [`:${literal}`, `: ${literal}`].flatMap((value) => {
    const first = data.indexOf(value);
    if (first < 0) return [];
    const isOnly = data.indexOf(value, first + 1) < 0;
    return isOnly ? [first + value.length - literal.length] : [first, first];
  });
  return positions.length === 1 ? positions[0] : undefined;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON does not allow them in a string
const needsUnescaping = /["\\\u0000-\u001f]/;

/**
 * Returns the string between the texts `before` and `after`. Returns undefined if the message does not match.
 */
function textBetween(data: string, before: string, after: string): string | undefined {
  const end = data.length - after.length;
  // Comparing slices is faster than startsWith and endsWith, which check each character.
  const isMatch = data.slice(0, before.length) === before && data.slice(end) === after;
  if (end < before.length || !isMatch) return undefined;
  const inside = data.slice(before.length, end);
  return needsUnescaping.test(inside) ? unescaped(inside) : inside;
}

function unescaped(inside: string): string | undefined {
  try {
    // `inside` may contain an unescaped quote. It is then not a JSON string, and `JSON.parse` throws.
    return JSON.parse(`"${inside}"`);
  } catch {
    return undefined;
  }
}
