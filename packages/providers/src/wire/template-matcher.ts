import type { LastAppend } from './wire.ts';

/** A message around the string in which those like it differ. */
interface MessageTemplate {
  readonly event: string | undefined;
  /** Up to the quote that begins the string, and from the quote that ends it. */
  readonly before: string;
  readonly after: string;
  readonly append: (text: string) => void;
}

/** As many as there are likely to be parts that stream in turns. */
const maxTemplates = 32;
/** After so many in a row that were like none, the server is one whose messages all differ. */
const maxMisses = 48;

/**
 * Most messages of a stream are equal but for one string, the text that they append. Such a message is
 * known by what stands around the string, and need not be parsed: where the rest is the same, so is
 * all that it means.
 */
export class TemplateMatcher {
  #templates: MessageTemplate[] = [];
  /** The one that fitted last. What streams in turns comes round again, so the next one is tried too. */
  #last = 0;
  #misses = 0;

  /** Does what the message says, if it is like one before; false if it has to be parsed. */
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
    // To look for what never comes would cost more than to parse.
    if (this.#misses === maxMisses) this.#templates = [];
    return false;
  }

  get wantsMore(): boolean {
    return this.#templates.length < maxTemplates && this.#misses < maxMisses;
  }

  /** Remembers a message that was parsed, if it is certain where in it the text is. */
  learn(data: string, event: string | undefined, { text, append }: LastAppend): void {
    const literal = JSON.stringify(text);
    const at = positionOfValue(data, literal);
    if (at === undefined || text === '') return;
    const before = data.slice(0, at + 1);
    const after = data.slice(at + literal.length - 1);
    // The text may be written with other escapes, and what was found be something else.
    if (before.includes('\\') || after.includes('\\')) return;
    this.#last = this.#templates.length;
    this.#templates.push({ event, before, after, append });
  }
}

/** Where the literal stands as the value of a key; undefined where it does not, or not only there. */
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

/** The value of the string between two texts; undefined where there is no such string. */
function textBetween(data: string, before: string, after: string): string | undefined {
  const end = data.length - after.length;
  // Slices are compared in one go, where startsWith and endsWith look at each character.
  const isMatch = data.slice(0, before.length) === before && data.slice(end) === after;
  if (end < before.length || !isMatch) return undefined;
  const inside = data.slice(before.length, end);
  return needsUnescaping.test(inside) ? unescape(inside) : inside;
}

function unescape(inside: string): string | undefined {
  try {
    // A quote that is not escaped makes this two values, and so no JSON.
    return JSON.parse(`"${inside}"`);
  } catch {
    return undefined;
  }
}
