export interface BackOff {
  /** The longest first wait. */
  readonly baseMs: number;
  readonly maxMs: number;
}

export const defaultBackOff: BackOff = { baseMs: 1000, maxMs: 30_000 };

/**
 * How long to wait after so many failures in a row: anything up to a limit that doubles with each (full
 * jitter), so that those who were cut off together do not come back together.
 */
export function backOffMs(
  failures: number,
  { baseMs, maxMs }: BackOff,
  random: () => number,
): number {
  const limit = Math.min(maxMs, baseMs * 2 ** Math.min(Math.max(0, failures - 1), 30));
  return Math.round(random() * limit);
}
