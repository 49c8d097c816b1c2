/** One of them, mostly of the newest, because most of what is old is over. */
export function pick<T>(list: readonly T[], number: number): T | undefined {
  return list.at(-1 - (number % Math.max(1, Math.min(list.length, 4))));
}
