/** SGR parameters in the order they are switched on, as in ['1', '36']; empty for text as it is. */
export type Style = readonly string[];

export const plain: Style = [];

interface EscapeCodes {
  readonly on: string;
  readonly off: string;
}

const noCodes: EscapeCodes = { on: '', off: '' };
const codesByStyle = new WeakMap<Style, EscapeCodes>();

/** One inside of the other. It does not grow with the depth: the inner colour is the one seen. */
export function joinStyles(outer: Style, inner: Style): Style {
  if (outer.length === 0) return inner;
  if (inner.length === 0) return outer;
  const hidden = new Set(inner.map((code) => attributeOf(code)));
  return [...outer.filter((code) => !hidden.has(attributeOf(code))), ...inner];
}

/** Codes of one layer replace each other; bold and dim do not. */
function attributeOf(code: string): string {
  const off = offCode(code);
  return off === '22' ? code : off;
}

export function sameStyle(a: Style, b: Style): boolean {
  return a === b || (a.length === b.length && a.every((code, index) => code === b[index]));
}

/**
 * What is written before and after text of a style. Each code is switched off by its own, never by
 * a reset, so that text may be painted inside of other painted text.
 */
export function escapeCodes(style: Style): EscapeCodes {
  if (style.length === 0) return noCodes;
  const found = codesByStyle.get(style);
  if (found !== undefined) return found;
  const on = style.map((code) => `\u001b[${code}m`).join('');
  const off = style.toReversed().map((code) => `\u001b[${offCode(code)}m`);
  const switches = { on, off: [...new Set(off)].join('') };
  codesByStyle.set(style, switches);
  return switches;
}

/** The code that ends what another began. */
export function offCode(code: string): string {
  const number = Number.parseInt(code, 10);
  if (number === 1 || number === 2) return '22';
  if (number === 21) return '24';
  if (number < 10) return `2${number}`;
  if (number === 53) return '55';
  if (number === 58) return '59';
  const isBackground = (number >= 40 && number <= 48) || number >= 100;
  return isBackground ? '49' : '39';
}
