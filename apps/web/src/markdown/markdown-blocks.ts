import { Lexer, type MarkedToken, type Token } from 'marked';

/** A paragraph, a list, a fence …; the same object as long as its text is the same. */
export interface MarkdownBlock {
  readonly key: number;
  readonly token: MarkedToken;
  /** Nothing is added to it any more. */
  readonly isDone: boolean;
}

/** A last block that is longer is shown as it is until its end: reading it again each time would cost. */
const maxLiveLength = 20_000;

/** Markdown that grows: what is finished is read once, the rest again with each piece. */
export class MarkdownBlocks {
  #text = '';
  /** Where the blocks that may still change begin. */
  #from = 0;
  #done: MarkdownBlock[] = [];
  #blocks: readonly MarkdownBlock[] = [];
  #isWhole = false;

  /** The blocks of the text; those that did not change are the same objects. */
  read(text: string, isWhole: boolean): readonly MarkdownBlock[] {
    if (text === this.#text && isWhole === this.#isWhole) return this.#blocks;
    // Comparing all that was there would cost as much as reading it: text only grows, and its length tells.
    if (text.length < this.#text.length) this.#reset();
    this.#text = text;
    this.#isWhole = isWhole;
    this.#blocks = isWhole ? this.#readWhole(text) : this.#readMore(text);
    return this.#blocks;
  }

  #reset(): void {
    this.#from = 0;
    this.#done = [];
    this.#blocks = [];
  }

  /** At the end all of it is read as one, because what comes late may change what comes first. */
  #readWhole(text: string): readonly MarkdownBlock[] {
    const before = this.#blocks;
    return tokensOf(text).map((token, key) => {
      const known = before[key];
      return known?.isDone && known.token.raw === token.raw ? known : { key, token, isDone: true };
    });
  }

  #readMore(text: string): readonly MarkdownBlock[] {
    const rest = text.slice(this.#from);
    const isLong = rest.length > maxLiveLength;
    const { tokens, marks } = isLong ? { tokens: [plain(rest)], marks: [] } : lexedSoFar(rest);
    const finished = isLong ? 0 : finishedCount(tokens);
    for (const token of tokens.slice(0, finished)) {
      this.#from += token.raw.length;
      if (isShown(token)) this.#done.push({ key: this.#done.length, token, isDone: true });
    }
    const open = [...tokens.slice(finished).filter(isShown), ...marks];
    return [
      ...this.#done,
      ...open.map((token, at) => ({ key: this.#done.length + at, token, isDone: false })),
    ];
  }
}

/** Where another block has begun, the one before is finished; a list only where two have. */
function finishedCount(tokens: readonly MarkedToken[]): number {
  const last = tokens.findLastIndex(isShown);
  const before = tokens.slice(0, Math.max(0, last)).findLastIndex(isShown);
  return Math.max(0, tokens[before]?.type === 'list' ? before : last);
}

interface SoFar {
  readonly tokens: readonly MarkedToken[];
  /** A last line that may become anything. */
  readonly marks: readonly MarkedToken[];
}

/** A last line of `-` or `=` makes what is before it a heading only where nothing else comes in it. */
function lexedSoFar(text: string): SoFar {
  const tokens = lexed(text);
  if (!endsUnderlined(tokens)) return { tokens, marks: [] };
  const from = text.lastIndexOf('\n') + 1;
  return { tokens: lexed(text.slice(0, from)), marks: [plain(text.slice(from))] };
}

function endsUnderlined(tokens: readonly Token[]): boolean {
  const last = tokens.findLast(isShown) as MarkedToken | undefined;
  switch (last?.type) {
    case 'heading':
      return /\n *(?:-+|=+) *$/.test(last.raw);
    case 'blockquote':
      return endsUnderlined(last.tokens);
    case 'list':
      return endsUnderlined(last.items.at(-1)?.tokens ?? []);
    default:
      return false;
  }
}

function tokensOf(text: string): readonly MarkedToken[] {
  return lexed(text).filter(isShown);
}

function lexed(text: string): readonly MarkedToken[] {
  try {
    return Lexer.lex(text) as MarkedToken[];
  } catch {
    // Deep nesting may be too much for it; then it is shown as it was written.
    return [plain(text)];
  }
}

function isShown({ type }: Token): boolean {
  return type !== 'space' && type !== 'def';
}

function plain(raw: string): MarkedToken {
  return { type: 'text', raw, text: raw, escaped: false };
}
