/** How long a body is as JSON; 0 for what cannot be written, and so was never sent. */
export function bodyLength(body: unknown): number {
  return lengthOf(body, (value) => value);
}

/** The same without pictures and other bytes, which are no text to be counted in tokens. */
export function textLength(body: unknown): number {
  return lengthOf(body, (value) => (isBytes(value) ? '' : value));
}

function lengthOf(body: unknown, replace: (value: unknown) => unknown): number {
  try {
    return (JSON.stringify(body, (_, value) => replace(value)) ?? '').length;
  } catch {
    return 0;
  }
}

/** A word as long as this is none. */
const maxWordLength = 256;

function isBytes(value: unknown): boolean {
  if (ArrayBuffer.isView(value)) return true;
  if (typeof value !== 'string' || value.length <= maxWordLength) return false;
  return /^data:[^,\s]{0,200};base64,/.test(value) || /^[\w+/-]+={0,2}$/.test(value);
}
