/** Elements whose content no reader sees. */
const hidden = new Set([
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'iframe',
  'select',
  'title',
]);
/** Elements that start a new paragraph. */
const blocks = new Set(
  'address article aside blockquote dd details div dl dt figcaption figure footer form header hr main nav ol p pre section summary table tbody thead tr ul'.split(
    ' ',
  ),
);

/** Maximum length of the text of a page. A page can repeat a short tag that becomes a long text. */
const maxTextLength = 1_000_000;

/** A link to a longer address is shown without its address. */
const maxLinkLength = 2000;

/**
 * Converts an HTML page to plain text with a few Markdown marks: headings, list items, code and links. The
 * time is proportional to the length of the page. The text ends after `maxTextLength`.
 *
 * @param base - The URL of the page. Relative links refer to it.
 */
export function pageText(html: string, base: string): string {
  const page = new TextBuilder(base);
  for (let at = 0; at < html.length && page.length < maxTextLength; ) {
    const open = html.indexOf('<', at);
    page.text(html.slice(at, open === -1 ? html.length : open));
    if (open === -1) break;
    at = page.tagAt(html, open);
  }
  return page.result();
}

/** Returns the title of an HTML page. Returns undefined if it has none. */
export function pageTitle(html: string): string | undefined {
  const start = /<title\b[^>]{0,200}>/i.exec(html.slice(0, 100_000));
  if (start === null) return undefined;
  const from = start.index + start[0].length;
  const end = html.indexOf('<', from);
  const title = decodeEntities(html.slice(from, end === -1 ? from : Math.min(end, from + 300)));
  return title.replace(/\s+/g, ' ').trim() || undefined;
}

class TextBuilder {
  readonly #base: string;
  readonly #parts: string[] = [];
  readonly #links: (string | undefined)[] = [];
  #codeDepth = 0;
  #length = 0;

  constructor(base: string) {
    this.#base = base;
  }

  get length(): number {
    return this.#length;
  }

  #push(...texts: readonly string[]): void {
    for (const text of texts) {
      this.#parts.push(text);
      this.#length += text.length;
    }
  }

  text(raw: string): void {
    if (raw === '') return;
    const decoded = decodeEntities(raw);
    if (this.#codeDepth > 0) return void this.#push(decoded);
    const isLineStart = this.#parts.at(-1)?.endsWith('\n') ?? true;
    const line = decoded.replace(/\s+/g, ' ');
    this.#push(isLineStart ? line.trimStart() : line);
  }

  /** Handles the tag at a position. Returns the position after it. */
  tagAt(html: string, at: number): number {
    if (html.startsWith('<!--', at)) return after(html, '-->', at + 4);
    const name = /^<\/?([a-z][a-z0-9-]{0,30})/i.exec(html.slice(at, at + 34))?.[1]?.toLowerCase();
    if (name === undefined) {
      if (/^<[!?]/.test(html.slice(at, at + 2))) return after(html, '>', at);
      this.text('<');
      return at + 1;
    }
    const end = after(html, '>', at);
    const isClosing = html.charAt(at + 1) === '/';
    if (!isClosing && (hidden.has(name) || name === 'head')) return endOfElement(html, name, end);
    this.#mark(name, isClosing, html.slice(at, Math.min(end, at + 4000)));
    return end;
  }

  #mark(name: string, isClosing: boolean, tag: string): void {
    const heading = /^h([1-6])$/.exec(name)?.[1];
    if (heading !== undefined) this.#push('\n\n', isClosing ? '' : `${'#'.repeat(+heading)} `);
    else if (name === 'pre') {
      this.#codeDepth = Math.max(0, this.#codeDepth + (isClosing ? -1 : 1));
      this.#push('\n```\n');
    } else if (name === 'code' && this.#codeDepth === 0) this.#push('`');
    else if (name === 'li') this.#push(isClosing ? '' : '\n- ');
    else if (name === 'br') this.#push('\n');
    else if (name === 'td' || name === 'th') this.#push(isClosing ? ' | ' : '');
    else if (name === 'a') this.#link(isClosing, tag);
    else if (blocks.has(name)) this.#push(name === 'tr' ? '\n' : '\n\n');
  }

  #link(isClosing: boolean, tag: string): void {
    if (isClosing) {
      const target = this.#links.pop();
      if (target !== undefined) this.#push(`](${target})`);
      return;
    }
    const [, , double, single, bare] =
      /\shref\s*=\s*("([^"]*)"|'([^']*)'|([^\s>]+))/i.exec(tag) ?? [];
    const target = URL.parse(decodeEntities(double ?? single ?? bare ?? ''), this.#base);
    const isUseful =
      target !== null &&
      target.href.length <= maxLinkLength &&
      /^https?:$/.test(target.protocol) &&
      !/href\s*=\s*["']?#/i.test(tag);
    this.#links.push(isUseful ? target.href : undefined);
    if (isUseful) this.#push('[');
  }

  result(): string {
    return (
      this.#parts
        .join('')
        // Without the look-behind, a long run of blanks would be read again from each of its blanks.
        .replace(/(?<![ \t])[ \t]+\n/g, '\n')
        .replace(/\n{3,}/g, '\n\n')
        .replace(/\[\s*\]\([^()\s]*\)/g, '')
        .trim()
    );
  }
}

/** Returns the position after a text. Without the text, it is the end of the page. */
function after(html: string, text: string, from: number): number {
  const at = html.indexOf(text, from);
  return at === -1 ? html.length : at + text.length;
}

/** Returns the position after the end tag of an element. */
function endOfElement(html: string, name: string, from: number): number {
  const lower = new RegExp(`</${name}\\b`, 'ig');
  lower.lastIndex = from;
  const found = lower.exec(html);
  return found === null ? html.length : after(html, '>', found.index);
}

const entities: Readonly<Record<string, string>> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', ndash: '–', mdash: '—' },
  ...{
    hellip: '…',
    copy: '©',
    reg: '®',
    trade: '™',
    laquo: '«',
    raquo: '»',
    lsquo: '‘',
    rsquo: '’',
  },
  ...{
    ldquo: '“',
    rdquo: '”',
    bull: '•',
    middot: '·',
    times: '×',
    rarr: '→',
    larr: '←',
    euro: '€',
  },
};

function decodeEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi,
    (whole, decimal, hex, name) => {
      if (name !== undefined) return entities[name.toLowerCase()] ?? whole;
      const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
      return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code).toWellFormed() : '\ufffd';
    },
  );
}
