const maxLength = 200;

/**
 * How like a line is to another, from 0 to 1, spaces at the ends aside: twice the pairs of neighbouring
 * characters that they share, of all that they have.
 */
export function likenessTo(line: string): (other: string) => number {
  const own = line.trim().slice(0, maxLength);
  const pairs = pairsOf(own);
  return (given) => {
    const other = given.trim().slice(0, maxLength);
    if (own === other) return 1;
    const total = own.length + other.length - 2;
    const most = 2 * (Math.min(own.length, other.length) - 1);
    // Lines of very different length need not be compared.
    return total <= 0 || most * 2 < total ? 0 : (2 * shared(pairs, other)) / total;
  };
}

function pairsOf(text: string): ReadonlyMap<string, number> {
  const pairs = new Map<string, number>();
  for (let at = 0; at + 1 < text.length; at++) {
    const pair = text.slice(at, at + 2);
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  return pairs;
}

function shared(pairs: ReadonlyMap<string, number>, other: string): number {
  const seen = new Map<string, number>();
  let count = 0;
  for (let at = 0; at + 1 < other.length; at++) {
    const pair = other.slice(at, at + 2);
    const times = (seen.get(pair) ?? 0) + 1;
    seen.set(pair, times);
    if (times <= (pairs.get(pair) ?? 0)) count++;
  }
  return count;
}
