/** A list of SGR codes in their order, such as ['1', '36']. Empty for plain text. */
export type Style = readonly string[];

export const plain: Style = [];

interface EscapeCodes {
  readonly on: string;
  readonly off: string;
}

const noCodes: EscapeCodes = { on: '', off: '' };
const codesByStyle = new WeakMap<Style, EscapeCodes>();

/**
 * Combines two nested styles. The inner color replaces the outer color, so nesting does not make
 * the result longer.
 */
export function joinStyles(outer: Style, inner: Style): Style {
  if (outer.length === 0) return inner;
  if (inner.length === 0) return outer;
  const hidden = new Set(inner.map((code) => attributeOf(code)));
  return [...outer.filter((code) => !hidden.has(attributeOf(code))), ...inner];
}

/**
 * Returns the attribute that a code sets. A code replaces other codes of the same attribute. Bold
 * and dim do not replace each other.
 */
function attributeOf(code: string): string {
  const off = offCode(code);
  return off === '22' ? code : off;
}

export function sameStyle(a: Style, b: Style): boolean {
  return a === b || (a.length === b.length && a.every((code, index) => code === b[index]));
}

/**
 * Returns the escape codes before and after a styled text. Each code has its own end code. A full
 * reset is not used, so that styled texts can be nested.
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

/** Returns the code that ends the effect of a given code. */
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
