/** The named entities that are common in prose. All other entities stay as they are in the source. */
const named: ReadonlyMap<string, string> = new Map(
  Object.entries({
    amp: '&',
    lt: '<',
    gt: '>',
    quot: '"',
    apos: "'",
    nbsp: '\u00a0',
    copy: '©',
    reg: '®',
    trade: '™',
    hellip: '…',
    mdash: '—',
    ndash: '–',
    lsquo: '‘',
    rsquo: '’',
    ldquo: '“',
    rdquo: '”',
    laquo: '«',
    raquo: '»',
    bull: '•',
    middot: '·',
    times: '×',
    rarr: '→',
    larr: '←',
    deg: '°',
    euro: '€',
  }),
);

const form = /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-zA-Z]{2,8}));/y;
const lastCodePoint = 0x10ffff;

interface Entity {
  readonly text: string;
  readonly length: number;
}

/**
 * Reads an entity such as `&amp;` at a position. Returns undefined if there is no entity. The text of the
 * entity can be a control character.
 */
export function entityAt(source: string, at: number): Entity | undefined {
  form.lastIndex = at;
  const match = form.exec(source);
  if (match === null) return undefined;
  const [whole, decimal, hex, name] = match;
  const text = name === undefined ? numbered(decimal, hex) : named.get(name);
  return text === undefined ? undefined : { text, length: whole.length };
}

/**
 * Replaces the entities of a text with their characters. Unknown entities stay as they are.
 *
 * @example
 * decodeEntities('Fish &amp; chips'); // 'Fish & chips'
 */
export function decodeEntities(text: string): string {
  return text.replace(/&[#\w]{2,9};/g, (whole) => entityAt(whole, 0)?.text ?? whole);
}

function numbered(decimal: string | undefined, hex: string | undefined): string {
  const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
  const isCharacter = code > 0 && code <= lastCodePoint;
  return isCharacter ? String.fromCodePoint(code).toWellFormed() : '\ufffd';
}
