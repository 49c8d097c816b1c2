import {
  hidesAddress,
  type InlineToken,
  type Mark,
  type OnWork,
  parseInline,
  safeLink,
  showsAddress,
} from '@millrace/markdown';
import { printable } from '../cells/printable.ts';
import type { Span } from '../cells/span.ts';
import { joinStyles, type Style } from '../theme/style.ts';
import type { Role, Theme } from '../theme/theme.ts';

interface OpenMark {
  readonly mark: Mark;
  readonly style: Style;
  readonly link: string | undefined;
  /** The index of the first span inside the element. */
  readonly from: number;
}

/** Maximum length of a link address. Terminals ignore longer addresses. */
const maxLink = 2048;

/** Converts inline Markdown to styled spans. `base` is the style of the surrounding text. */
export function inlineSpans(
  source: string,
  theme: Theme,
  base: Style,
  onWork?: OnWork,
): readonly Span[] {
  const out = new SpanWriter(theme, base);
  for (const token of parseInline(source, onWork)) out.write(token);
  return out.spans;
}

class SpanWriter {
  readonly spans: Span[] = [];
  readonly #theme: Theme;
  readonly #open: OpenMark[] = [];
  #style: Style;
  #link: string | undefined;

  constructor(theme: Theme, base: Style) {
    this.#theme = theme;
    this.#style = base;
  }

  write(token: InlineToken): void {
    switch (token.type) {
      case 'text':
        return this.#put(token.text);
      case 'code':
        return this.#put(this.#theme.marks ? `\`${token.text}\`` : token.text, 'code');
      case 'math':
        return this.#put(token.source);
      case 'footnote':
        return this.#put(token.source, 'marker');
      case 'html':
        return this.#put(token.text, 'html');
      case 'break':
        return this.#put('\n');
      case 'open':
        return this.#begin(token.mark);
      case 'close':
        return this.#end();
    }
  }

  #put(text: string, role?: Role): void {
    const style = role === undefined ? this.#style : this.#styled(role);
    this.spans.push({ text: printable(text), style, link: this.#link });
  }

  #begin(mark: Mark): void {
    this.#open.push({ mark, style: this.#style, link: this.#link, from: this.spans.length });
    if (mark.type === 'image') this.#put('[image: ', 'muted');
    this.#style = this.#styled(mark.type === 'image' ? 'link' : mark.type);
    if (this.#theme.hyperlinks && 'address' in mark) this.#link ??= safeLink(mark.address, maxLink);
  }

  #end(): void {
    const ended = this.#open.pop();
    if (ended === undefined) return;
    const { mark, style, link, from } = ended;
    const isLinked = this.#link !== undefined;
    this.#style = style;
    this.#link = link;
    if (mark.type === 'image') this.#put(']', 'muted');
    if ('address' in mark) this.#showAddress(mark.address, this.#textFrom(from), isLinked);
  }

  /**
   * Adds the address after the text of a link. It is omitted if the text is the address. If the
   * terminal supports links, it is also omitted, unless the text looks like an address.
   */
  #showAddress(address: string, text: string, isLinked: boolean): void {
    if (address === '' || showsAddress(text, address)) return;
    if (isLinked && !hidesAddress(text, address)) return;
    this.#put(` (${address})`, 'address');
  }

  #textFrom(from: number): string {
    const spans = this.spans.slice(from);
    return spans.map(({ text }) => text).join('');
  }

  #styled(role: Role): Style {
    return joinStyles(this.#style, this.#theme.styles[role]);
  }
}
