// Options are checked when a provider is made: NaN and texts would pass for a limit that never holds.

/** Whole and above 0, or without end. */
export function isCount(value: unknown): boolean {
  return typeof value === 'number' && value >= 1 && (Number.isInteger(value) || value === Infinity);
}

export function checkCount(option: string, value: unknown): void {
  if (isCount(value)) return;
  throw new RangeError(`Cannot use ${shown(value)} as ${option}: use a whole number of 1 or more`);
}

/** Above 0, or without end. */
export function checkDuration(option: string, value: unknown): void {
  if (typeof value === 'number' && value > 0) return;
  throw new RangeError(`Cannot use ${shown(value)} as ${option}: use milliseconds, more than 0`);
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
