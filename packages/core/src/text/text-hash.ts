/**
 * Returns the SHA-256 of the UTF-16 code units of a text, big-endian, as 64 hexadecimal digits. So texts with
 * different lone surrogates have different hashes.
 *
 * Use it for ids on which a decision rests. It is synchronous and needs no API of the host, because browsers
 * and workflows have no synchronous SHA-256.
 */
export function textHash(text: string): string {
  const words = paddedWords(text);
  const hash = Int32Array.from(initialHash);
  const schedule = new Int32Array(64);
  for (let start = 0; start < words.length; start += 16)
    addBlock(hash, schedule, words.subarray(start, start + 16));
  return [...hash].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
}

/** Returns the text as words of 32 bits, with the padding of SHA-256. */
function paddedWords(text: string): Int32Array {
  const { length } = text;
  const words = new Int32Array(16 * Math.ceil((2 * length + 9) / 64));
  const put = (at: number, unit: number) => {
    words[at >> 1] = (words[at >> 1] ?? 0) | (at % 2 === 0 ? unit << 16 : unit);
  };
  for (let at = 0; at < length; at++) put(at, text.charCodeAt(at));
  put(length, 0x8000);
  words[words.length - 2] = Math.floor(length / 2 ** 28);
  words[words.length - 1] = length * 16;
  return words;
}

function addBlock(hash: Int32Array, schedule: Int32Array, block: Int32Array): void {
  schedule.set(block);
  for (let at = 16; at < 64; at++) {
    const [early, late] = [schedule[at - 15] ?? 0, schedule[at - 2] ?? 0];
    const first = rotated(early, 7) ^ rotated(early, 18) ^ (early >>> 3);
    const second = rotated(late, 17) ^ rotated(late, 19) ^ (late >>> 10);
    schedule[at] = (schedule[at - 16] ?? 0) + first + (schedule[at - 7] ?? 0) + second;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = hash;
  for (let at = 0; at < 64; at++) {
    const sumOfE = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
    const added = h + sumOfE + ((e & f) ^ (~e & g)) + (rounds[at] ?? 0) + (schedule[at] ?? 0);
    const sumOfA = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22);
    const next = (added + sumOfA + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + added) | 0, c, b, a, next];
  }
  for (const [at, word] of [a, b, c, d, e, f, g, h].entries()) hash[at] = (hash[at] ?? 0) + word;
}

function rotated(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

const primes: readonly number[] = firstPrimes(64);
/** The first 32 bits of the fractions of the square roots of the first 8 primes. */
const initialHash = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
/** The first 32 bits of the fractions of the cube roots of the first 64 primes. */
const rounds = primes.map((prime) => fraction(Math.cbrt(prime)));

function fraction(root: number): number {
  return ((root % 1) * 2 ** 32) | 0;
}

function firstPrimes(count: number): number[] {
  const found: number[] = [];
  for (let one = 2; found.length < count; one++)
    if (found.every((prime) => one % prime !== 0)) found.push(one);
  return found;
}
