import type { OnWork } from '../code/highlight.ts';
import { angledAt, linked } from './angle-brackets.ts';
import { bareAddressAt } from './bare-address.ts';
import { BracketStack } from './bracket-stack.ts';
import { CodeSpans } from './code-spans.ts';
import { type DelimiterChar, flanking } from './delimiter-run.ts';
import { DelimiterStack } from './delimiter-stack.ts';
import { entityAt } from './entity.ts';
import { type InlineToken, type Slot, slotOf, tokensOf } from './inline-token.ts';
import { linkTailAt } from './link-tail.ts';

/** Where text may be more than text. */
const special = /[\\`*_~[\]<&\n]|!\[|https?:\/\/|www\./gi;
const escapable = /^[!-/:-@[-`{-~]$/;

/** What stands in a paragraph, a heading or a cell. It takes time in proportion to the text. */
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
  #at = 0;

  constructor(source: string, onWork?: OnWork) {
    this.#source = source;
    this.#onWork = onWork;
    this.#delimiters = new DelimiterStack(onWork);
    this.#codeSpans = new CodeSpans(source);
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
        return this.#escape();
      case '`':
        return this.#code();
      case '*':
      case '_':
      case '~':
        return this.#run(char);
      case '[':
      case '!':
        return this.#openBracket(char === '!');
      case ']':
        return this.#closeBracket();
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

  #escape(): void {
    const next = this.#source.charAt(this.#at + 1);
    if (next === '\n') {
      this.#at += 1;
      this.#newline();
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
    const angled = angledAt(this.#source, this.#at);
    if (angled === undefined) return this.#take('<', 1);
    for (const token of angled.tokens) this.#slots.push(slotOf(token));
    this.#at += angled.length;
  }

  #entity(): void {
    const entity = entityAt(this.#source, this.#at);
    this.#take(entity?.text ?? '&', entity?.length ?? 1);
  }

  #address(): void {
    const found = bareAddressAt(this.#source, this.#at);
    if (found === undefined) return this.#take(this.#source.charAt(this.#at), 1);
    for (const token of linked(found.text, found.address)) this.#slots.push(slotOf(token));
    this.#at += found.text.length;
  }

  /** Spaces around a line break are not text. */
  #newline(): void {
    const last = this.#slots.at(-1);
    if (last?.token?.type === 'text') {
      last.token = { type: 'text', text: last.token.text.trimEnd() };
    }
    this.#slots.push(slotOf({ type: 'break' }));
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
