/** So many of something, as people say it: `1 session`, `2 sessions`. */
export function countOf(number: number, thing: string): string {
  return `${number} ${thing}${number === 1 ? '' : 's'}`;
}
