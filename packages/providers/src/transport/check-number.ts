// These functions check options when the provider is created. Without these checks, NaN or a string would
// silently disable a limit.

/** Returns whether a value is an integer of at least 1, or Infinity. */
export function isCount(value: unknown): boolean {
  return typeof value === 'number' && value >= 1 && (Number.isInteger(value) || value === Infinity);
}

export function checkCount(option: string, value: unknown): void {
  if (isCount(value)) return;
  throw new RangeError(`Cannot use ${shown(value)} as ${option}: use a whole number of 1 or more`);
}

/** Throws if the value is not a number above 0. Infinity is allowed. */
export function checkDuration(option: string, value: unknown): void {
  if (typeof value === 'number' && value > 0) return;
  throw new RangeError(`Cannot use ${shown(value)} as ${option}: use milliseconds, more than 0`);
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
