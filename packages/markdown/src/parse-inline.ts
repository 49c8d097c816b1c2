import type { OnWork } from './block.ts';
import { type DelimiterChar, type DelimiterRun, DelimiterStack, flanking } from './emphasis.ts';
import { entityAt } from './entity.ts';
import { type InlineToken, type Slot, slotOf, tokensOf } from './inline-token.ts';
import { angleBracketsAt, bareAddressAt, linkTailAt } from './links.ts';
import { MathFinder } from './math.ts';

/** Matches the characters that can have a special meaning. */
const special = /[\\`*_~[\]<&$\n]|!\[|https?:\/\/|www\./gi;
/** Matches a reference to a footnote. If a parenthesis follows, the text is a link and not a reference. */
const footnote = /\[\^([^\s[\]^]{1,64})\](?!\()/y;
const escapable = /^[!-/:-@[-`{-~]$/;

/**
 * Parses the text of a paragraph, a heading or a table cell. The time is proportional to the length of the
 * text.
 *
 * @example
 * parseInline('**Sunny**, 24 °C');
 * // [{ type: 'open', mark: { type: 'strong' } }, { type: 'text', text: 'Sunny' },
 * //  { type: 'close', mark: { type: 'strong' } }, { type: 'text', text: ', 24 °C' }]
 */
export function parseInline(source: string, onWork?: OnWork): readonly InlineToken[] {
  return new InlineParser(source, onWork).parse();
}

class InlineParser {
  readonly #source: string;
  readonly #onWork: OnWork | undefined;
  readonly #slots: Slot[] = [];
  readonly #delimiters: DelimiterStack;
  readonly #brackets = new BracketStack();
  readonly #codeSpans: CodeSpans;
  readonly #math: MathFinder;
  #at = 0;

  constructor(source: string, onWork?: OnWork) {
    this.#source = source;
    this.#onWork = onWork;
    this.#delimiters = new DelimiterStack(onWork);
    this.#codeSpans = new CodeSpans(source);
    this.#math = new MathFinder(source, onWork);
  }

  parse(): readonly InlineToken[] {
    while (this.#at < this.#source.length) {
      special.lastIndex = this.#at;
      const next = special.exec(this.#source)?.index ?? this.#source.length;
      this.#onWork?.(1 + next - this.#at);
      this.#text(this.#source.slice(this.#at, next));
      this.#at = next;
      if (next < this.#source.length) this.#special(this.#source.charAt(next));
    }
    this.#delimiters.pair(undefined);
    return tokensOf(this.#slots);
  }

  #special(char: string): void {
    switch (char) {
      case '\\':
        if (!this.#formula()) this.#escape();
        return;
      case '`':
        return this.#code();
      case '*':
      case '_':
      case '~':
        return this.#run(char);
      case '[':
        if (!this.#footnote()) this.#openBracket(false);
        return;
      case '!':
        return this.#openBracket(true);
      case ']':
        return this.#closeBracket();
      case '$':
        if (!this.#formula()) this.#take('$', 1);
        return;
      case '<':
        return this.#angle();
      case '&':
        return this.#entity();
      case '\n':
        return this.#newline();
      default:
        return this.#address();
    }
  }

  /** Reads a formula. Returns false if no formula starts here. */
  #formula(): boolean {
    const formula = this.#math.at(this.#at);
    if (formula === undefined) return false;
    this.#slots.push(slotOf(formula));
    this.#at += formula.source.length;
    return true;
  }

  /** Reads a reference to a footnote. Returns false if no reference starts here. */
  #footnote(): boolean {
    footnote.lastIndex = this.#at;
    const [source, label] = footnote.exec(this.#source) ?? [];
    if (source === undefined || label === undefined) return false;
    this.#slots.push(slotOf({ type: 'footnote', label, source }));
    this.#at += source.length;
    return true;
  }

  #escape(): void {
    const next = this.#source.charAt(this.#at + 1);
    if (next === '\n') {
      this.#at += 1;
      this.#newline(true);
    } else if (escapable.test(next)) this.#take(next, 2);
    else this.#take('\\', 1);
  }

  #code(): void {
    const length = this.#runLength('`');
    const code = this.#codeSpans.after(length, this.#at + length);
    if (code === undefined) return this.#take('`'.repeat(length), length);
    this.#slots.push(slotOf({ type: 'code', text: code.text }));
    this.#at = code.end;
  }

  #run(char: DelimiterChar): void {
    const length = this.#runLength(char);
    const end = this.#at + length;
    const slot = slotOf({ type: 'text', text: char.repeat(length) });
    const sides = flanking(this.#source, this.#at, end);
    if (sides.canOpen || sides.canClose) {
      const order = this.#slots.length;
      const ends = { before: undefined, after: undefined };
      this.#delimiters.push({ char, slot, order, length, left: length, ...sides, ...ends });
    }
    this.#slots.push(slot);
    this.#at = end;
  }

  #openBracket(isImage: boolean): void {
    const slot = slotOf({ type: 'text', text: isImage ? '![' : '[' });
    this.#brackets.push({ slot, isImage, below: this.#delimiters.last });
    this.#slots.push(slot);
    this.#at += isImage ? 2 : 1;
  }

  #closeBracket(): void {
    const bracket = this.#brackets.pop();
    const tail = bracket && linkTailAt(this.#source, this.#at + 1);
    if (bracket === undefined || tail === undefined) return this.#take(']', 1);
    this.#onWork?.(tail.end - this.#at);
    this.#delimiters.pair(bracket.below);
    const type = bracket.isImage ? 'image' : 'link';
    const mark = { type, address: tail.address } as const;
    bracket.slot.token = undefined;
    bracket.slot.opens.push(mark);
    this.#slots.push({ token: undefined, closes: [mark], opens: [] });
    if (!bracket.isImage) this.#brackets.forbidLinks();
    this.#at = tail.end;
  }

  #angle(): void {
    const found = angleBracketsAt(this.#source, this.#at);
    if (found === undefined) return this.#take('<', 1);
    for (const token of found.tokens) this.#slots.push(slotOf(token));
    this.#at += found.length;
  }

  #entity(): void {
    const entity = entityAt(this.#source, this.#at);
    this.#take(entity?.text ?? '&', entity?.length ?? 1);
  }

  #address(): void {
    const found = bareAddressAt(this.#source, this.#at);
    if (found === undefined) return this.#take(this.#source.charAt(this.#at), 1);
    for (const token of found.tokens) this.#slots.push(slotOf(token));
    this.#at += found.length;
  }

  /**
   * Reads a line break and removes the spaces around it. With two spaces before it, it is a hard line break.
   */
  #newline(isHard = this.#source.endsWith('  ', this.#at)): void {
    const last = this.#slots.at(-1);
    if (last?.token?.type === 'text') {
      last.token = { type: 'text', text: last.token.text.trimEnd() };
    }
    this.#slots.push(slotOf({ type: 'break', isHard }));
    this.#at += 1;
    while (this.#source.charAt(this.#at) === ' ') this.#at += 1;
  }

  #take(text: string, length: number): void {
    this.#text(text);
    this.#at += length;
  }

  #text(text: string): void {
    if (text !== '') this.#slots.push(slotOf({ type: 'text', text }));
  }

  #runLength(char: string): number {
    let end = this.#at;
    while (this.#source.charAt(end) === char) end++;
    return end - this.#at;
  }
}

interface Bracket {
  readonly slot: Slot;
  readonly isImage: boolean;
  /** The last delimiter run before the bracket. All later runs are inside the brackets. */
  readonly below: DelimiterRun | undefined;
}

/** The `[` and `![` that are still open. */
class BracketStack {
  readonly #open: Bracket[] = [];
  /**
   * The number of open brackets, counted from the outermost one, that already contain a link. They can start
   * only images, because links cannot be nested.
   */
  #withoutLinks = 0;

  push(bracket: Bracket): void {
    this.#open.push(bracket);
  }

  /**
   * Returns the bracket that a `]` closes. Returns undefined if this bracket cannot start a link or an
   * image.
   */
  pop(): Bracket | undefined {
    const bracket = this.#open.pop();
    const isForbidden = this.#open.length < this.#withoutLinks && bracket?.isImage === false;
    this.#withoutLinks = Math.min(this.#withoutLinks, this.#open.length);
    return isForbidden ? undefined : bracket;
  }

  /**
   * Prevents the open brackets from becoming links. The parser calls it after it has found a link inside
   * these brackets.
   */
  forbidLinks(): void {
    this.#withoutLinks = this.#open.length;
  }
}

interface CodeSpan {
  readonly text: string;
  readonly end: number;
}

/**
 * Finds code between backticks. It finds the positions of all runs of backticks only once. A text with many
 * unpaired backticks therefore needs no separate search for each backtick.
 */
class CodeSpans {
  readonly #source: string;
  #runs: Map<number, number[]> | undefined;

  constructor(source: string) {
    this.#source = source;
  }

  /**
   * Returns the code between a run of backticks that ends at a position and the next run of the same
   * length. Returns undefined if there is no such run.
   */
  after(length: number, at: number): CodeSpan | undefined {
    this.#runs ??= runsByLength(this.#source);
    const positions = this.#runs.get(length) ?? [];
    // The positions of the calls increase, so earlier runs are no longer needed.
    while (positions.length > 0 && (positions.at(-1) ?? 0) < at) positions.pop();
    const close = positions.at(-1);
    if (close === undefined) return undefined;
    return { text: codeOf(this.#source.slice(at, close)), end: close + length };
  }
}

/** Returns the positions of the runs of backticks by their length, last position first. */
function runsByLength(source: string): Map<number, number[]> {
  const runs = new Map<number, number[]>();
  for (const { 0: run, index } of source.matchAll(/`+/g)) {
    const positions = runs.get(run.length);
    if (positions === undefined) runs.set(run.length, [index]);
    else positions.push(index);
  }
  for (const positions of runs.values()) positions.reverse();
  return runs;
}

function codeOf(source: string): string {
  const text = source.replaceAll('\n', ' ');
  const isPadded = text.startsWith(' ') && text.endsWith(' ') && text.trim() !== '';
  return isPadded ? text.slice(1, -1) : text;
}
