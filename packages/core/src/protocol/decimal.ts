const form = /^-?\d{1,30}(?:\.\d{1,30})?$/;

/** Is it an exact decimal as we write them: digits, perhaps a point and digits, no exponent? */
export function isDecimal(text: string): boolean {
  return form.test(text);
}

/** The exact sum, with as many decimals as the longer of the two has. */
export function addDecimals(a: string, b: string): string {
  const decimals = Math.max(decimalsOf(a), decimalsOf(b));
  return written(scaled(a, decimals) + scaled(b, decimals), decimals);
}

/** Below, at or above 0 as `a` is below, at or above `b`. */
export function compareDecimals(a: string, b: string): number {
  const decimals = Math.max(decimalsOf(a), decimalsOf(b));
  const [one, other] = [scaled(a, decimals), scaled(b, decimals)];
  return one < other ? -1 : one > other ? 1 : 0;
}

function decimalsOf(text: string): number {
  const point = text.indexOf('.');
  return point < 0 ? 0 : text.length - point - 1;
}

function scaled(text: string, decimals: number): bigint {
  return BigInt(text.replace('.', '') + '0'.repeat(decimals - decimalsOf(text)));
}

function written(value: bigint, decimals: number): string {
  if (decimals === 0) return value.toString();
  const sign = value < 0n ? '-' : '';
  const digits = (value < 0n ? -value : value).toString().padStart(decimals + 1, '0');
  return `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}
