/** The named ones that are met in prose; the rest stays as it is written. */
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

export interface Entity {
  readonly text: string;
  readonly length: number;
}

/** The character that is written as `&…;` at this place, which may well be a control character. */
export function entityAt(source: string, at: number): Entity | undefined {
  form.lastIndex = at;
  const match = form.exec(source);
  if (match === null) return undefined;
  const [whole, decimal, hex, name] = match;
  const text = name === undefined ? numbered(decimal, hex) : named.get(name);
  return text === undefined ? undefined : { text, length: whole.length };
}

function numbered(decimal: string | undefined, hex: string | undefined): string {
  const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
  return code === 0 || code > lastCodePoint ? '\ufffd' : String.fromCodePoint(code);
}
