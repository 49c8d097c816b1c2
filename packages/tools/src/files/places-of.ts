/** So short a text is found by what the engine has, which is quick as a rule. */
const maxShortLength = 64;

/**
 * Where a text is in another, from the start on; places may overlap. Never slower than both are long:
 * the engine's own search takes hours for a million characters of which few are different.
 */
export function* placesOf(text: string, wanted: string): Generator<number> {
  if (wanted.length <= maxShortLength) yield* shortPlaces(text, wanted);
  else yield* longPlaces(text, wanted);
}

/** The first place, or -1. */
export function placeOf(text: string, wanted: string): number {
  for (const place of placesOf(text, wanted)) return place;
  return -1;
}

function* shortPlaces(text: string, wanted: string): Generator<number> {
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) {
    yield at;
    if (wanted === '') return;
  }
}

/** After Knuth, Morris and Pratt: no character of the text is looked at twice. */
function* longPlaces(text: string, wanted: string): Generator<number> {
  if (wanted.length > text.length) return;
  const borders = bordersOf(wanted);
  let matched = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    while (matched > 0 && wanted.charCodeAt(matched) !== code) matched = borders[matched - 1] ?? 0;
    if (wanted.charCodeAt(matched) === code) matched++;
    if (matched < wanted.length) continue;
    yield at + 1 - wanted.length;
    matched = borders[matched - 1] ?? 0;
  }
}

/** For each beginning of a text: how long the longest one is that it also ends with. */
function bordersOf(wanted: string): Int32Array {
  const borders = new Int32Array(wanted.length);
  let matched = 0;
  for (let at = 1; at < wanted.length; at++) {
    const code = wanted.charCodeAt(at);
    while (matched > 0 && wanted.charCodeAt(matched) !== code) matched = borders[matched - 1] ?? 0;
    if (wanted.charCodeAt(matched) === code) matched++;
    borders[at] = matched;
  }
  return borders;
}
