/** How a scripted text is cut: by character, into pieces like a model's tokens, or by a seed. */
export type Pieces = 'character' | 'token' | 'whole' | { readonly seed: number };

export function* piecesOf(text: string, pieces: Pieces): Generator<string> {
  if (pieces === 'character') yield* text;
  else if (pieces === 'token') yield* tokensOf(text);
  else if (pieces === 'whole') yield text;
  else yield* seeded(text, pieces.seed);
}

/** Words with the space before them, long ones in two or three pieces. */
function tokensOf(text: string): readonly string[] {
  return text.match(/\s?[^\s]{1,6}|\s/gsu) ?? [];
}

const longest = 12;

/** One to twelve characters each, always the same for the same seed. */
function* seeded(text: string, seed: number): Generator<string> {
  const characters = [...text];
  const next = randomNumbers(seed);
  for (let at = 0; at < characters.length; ) {
    const count = 1 + Math.floor(next() * longest);
    yield characters.slice(at, at + count).join('');
    at += count;
  }
}

/** Numbers in [0, 1) from a seed (mulberry32): a script must not depend on the engine's randomness. */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
