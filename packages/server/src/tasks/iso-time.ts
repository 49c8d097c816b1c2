/** Milliseconds since 1970 as the wire has them. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
