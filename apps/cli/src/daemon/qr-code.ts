/**
 * A QR code of a text, as rows of dark (true) and light modules, without the margin. It uses the byte mode,
 * the error correction level L, and the first mask. These are enough for links on a screen.
 */
export type QrCode = readonly (readonly boolean[])[];

/**
 * For each version, three numbers: the error correction words of a block, the number of blocks, and the data
 * words of all blocks.
 */
const sizes: readonly number[] = [
  7, 1, 19, 10, 1, 34, 15, 1, 55, 20, 1, 80, 26, 1, 108, 18, 2, 136, 20, 2, 156, 24, 2, 194, 30, 2,
  232, 18, 4, 274, 20, 4, 324, 24, 4, 370, 26, 4, 428,
];

/** Creates the QR code of a text. Returns undefined if the text has more than 425 bytes. */
export function qrCode(text: string): QrCode | undefined {
  const bytes = new TextEncoder().encode(text);
  for (let version = 1; version <= sizes.length / 3; version++) {
    const [errors = 0, blocks = 0, capacity = 0] = sizes.slice(version * 3 - 3, version * 3);
    if (capacity * 8 < 4 + (version < 10 ? 8 : 16) + bytes.length * 8) continue;
    const grid = new Grid(version);
    grid.placeData(codeWords(bytes, { version, errors, blocks, capacity }));
    return grid.rows;
  }
  return undefined;
}

/** Returns the data and error correction words in the order in which they are placed. */
function codeWords(
  bytes: Uint8Array,
  {
    version,
    errors,
    blocks: count,
    capacity,
  }: Readonly<Record<'version' | 'errors' | 'blocks' | 'capacity', number>>,
): readonly number[] {
  const bits: number[] = [];
  const push = (value: number, length: number) => {
    for (let bit = length - 1; bit >= 0; bit--) bits.push((value >> bit) & 1);
  };
  push(4, 4);
  push(bytes.length, version < 10 ? 8 : 16);
  for (const byte of bytes) push(byte, 8);
  push(0, Math.min(4, capacity * 8 - bits.length));
  while (bits.length % 8 !== 0) bits.push(0);
  const data = Array.from({ length: bits.length / 8 }, (_, word) =>
    bits.slice(word * 8, word * 8 + 8).reduce((value, bit) => value * 2 + bit, 0),
  );
  for (let pad = 0; data.length < capacity; pad++) data.push(pad % 2 === 0 ? 0xec : 0x11);
  // The last blocks have one word more if the words cannot be divided evenly.
  const startOf = (block: number) =>
    block * Math.floor(capacity / count) + Math.max(0, block - (count - (capacity % count)));
  const blocks = Array.from({ length: count }, (_, at) => data.slice(startOf(at), startOf(at + 1)));
  const checks = blocks.map((block) => errorCorrection(block, errors));
  return [...interleaved(blocks), ...interleaved(checks)];
}

function interleaved(blocks: readonly (readonly number[])[]): readonly number[] {
  const longest = Math.max(...blocks.map(({ length }) => length));
  return Array.from({ length: longest }, (_, at) =>
    blocks.flatMap((block) => block[at] ?? []),
  ).flat();
}

/** Multiplies in the field GF(256) with the polynomial 0x11d. */
function times(one: number, other: number): number {
  let product = 0;
  for (let bit = 7; bit >= 0; bit--) {
    product = (product << 1) ^ ((product >> 7) * 0x11d);
    if ((other >> bit) & 1) product ^= one;
  }
  return product;
}

/** Returns the remainder of the Reed-Solomon division. */
function errorCorrection(data: readonly number[], count: number): readonly number[] {
  const divisor: number[] = [...Array<number>(count - 1).fill(0), 1];
  for (let root = 1, step = 0; step < count; step++, root = times(root, 2))
    for (let at = 0; at < count; at++)
      divisor[at] = times(divisor[at] ?? 0, root) ^ (divisor[at + 1] ?? 0);
  const rest: number[] = Array<number>(count).fill(0);
  for (const word of data) {
    const factor = word ^ (rest.shift() ?? 0);
    rest.push(0);
    divisor.forEach((value, at) => {
      rest[at] = (rest[at] ?? 0) ^ times(value, factor);
    });
  }
  return rest;
}

/**
 * The modules of a QR code: its black and white squares. The constructor sets the modules that do
 * not depend on the text.
 */
class Grid {
  readonly rows: boolean[][];
  readonly #isFixed: boolean[][];
  readonly #size: number;

  constructor(version: number) {
    this.#size = version * 4 + 17;
    const empty = () =>
      Array.from({ length: this.#size }, () => Array<boolean>(this.#size).fill(false));
    this.rows = empty();
    this.#isFixed = empty();
    for (let at = 0; at < this.#size; at++) {
      this.#set(6, at, at % 2 === 0);
      this.#set(at, 6, at % 2 === 0);
    }
    const far = this.#size - 4;
    this.#square(3, 3, 4);
    this.#square(3, far, 4);
    this.#square(far, 3, 4);
    const centers = alignmentCenters(version, this.#size);
    const last = centers.length - 1;
    centers.forEach((row, i) => {
      centers.forEach((column, j) => {
        const isCorner = (i === 0 && (j === 0 || j === last)) || (i === last && j === 0);
        if (!isCorner) this.#square(row, column, 2);
      });
    });
    this.#placeFormat();
    if (version >= 7) this.#placeVersion(version);
  }

  /** Places the words in columns of two modules, from the right, up and down, with the first mask. */
  placeData(words: readonly number[]): void {
    let bit = 0;
    let isUp = true;
    for (let right = this.#size - 1; right >= 1; right -= 2) {
      if (right === 6) right = 5;
      for (let step = 0; step < this.#size; step++) {
        const row = isUp ? this.#size - 1 - step : step;
        for (const column of [right, right - 1]) {
          if (this.#isFixed[row]?.[column]) continue;
          const word = words[bit >> 3] ?? 0;
          const isSet = ((word >> (7 - (bit & 7))) & 1) === 1;
          bit++;
          const cells = this.rows[row];
          if (cells !== undefined) cells[column] = isSet !== ((row + column) % 2 === 0);
        }
      }
      isUp = !isUp;
    }
  }

  #set(row: number, column: number, isDark: boolean): void {
    const [cells, fixed] = [this.rows[row], this.#isFixed[row]];
    if (cells === undefined || fixed === undefined || column < 0 || column >= this.#size) return;
    cells[column] = isDark;
    fixed[column] = true;
  }

  /** Places nested squares: a finder pattern with its margin (4), or an alignment pattern (2). */
  #square(row: number, column: number, reach: number): void {
    for (let y = -reach; y <= reach; y++)
      for (let x = -reach; x <= reach; x++) {
        const distance = Math.max(Math.abs(x), Math.abs(y));
        const isDark = reach === 4 ? distance !== 2 && distance !== 4 : distance !== 1;
        this.#set(row + y, column + x, isDark);
      }
  }

  /** Places the format: level L and mask 0. */
  #placeFormat(): void {
    const bits = withCheck(0b01000, 10, 0x537) ^ 0x5412;
    const isSet = (at: number) => ((bits >> at) & 1) === 1;
    for (let at = 0; at < 15; at++) {
      const near = at < 6 ? at : at < 8 ? at + 1 : this.#size - 15 + at;
      this.#set(near, 8, isSet(at));
      const side = at < 8 ? this.#size - 1 - at : at === 8 ? 7 : 14 - at;
      this.#set(8, side, isSet(at));
    }
    this.#set(this.#size - 8, 8, true);
  }

  #placeVersion(version: number): void {
    const bits = withCheck(version, 12, 0x1f25);
    for (let at = 0; at < 18; at++) {
      const isSet = ((bits >> at) & 1) === 1;
      const [long, short] = [this.#size - 11 + (at % 3), Math.floor(at / 3)];
      this.#set(long, short, isSet);
      this.#set(short, long, isSet);
    }
  }
}

/** Returns a value followed by the remainder of its division by a polynomial. */
function withCheck(value: number, length: number, polynomial: number): number {
  let rest = value;
  for (let step = 0; step < length; step++)
    rest = (rest << 1) ^ ((rest >> (length - 1)) * polynomial);
  return (value << length) | rest;
}

function alignmentCenters(version: number, size: number): readonly number[] {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const step = Math.ceil((size - 13) / (count * 2 - 2)) * 2;
  const others = Array.from({ length: count - 1 }, (_, at) => size - 7 - at * step);
  return [6, ...others.toReversed()];
}
