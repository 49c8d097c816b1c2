import { createOutputStore } from '../command-output.ts';
import type { SecretMask } from '../mask-secrets.ts';

interface LiveOutputOptions {
  /** Maximum number of bytes to store from the start of the output. */
  readonly maxKeptBytes: number;
  /** Masks secrets before the output is stored. Default: nothing is masked. */
  readonly mask?: SecretMask | undefined;
  /** Also gets the bytes, after masking. Default: none. */
  readonly onOutput?: ((bytes: Uint8Array) => Promise<void> | undefined) | undefined;
}

/** A part of an output that was read. */
export interface OutputSlice {
  readonly text: string;
  /** The position after the part, in bytes. The next read starts there. */
  readonly next: number;
  /** True if the output continues after the part. */
  readonly hasMore: boolean;
}

/** The output of a command that can be read while the command runs. */
export interface LiveOutput {
  /** Adds bytes. Returns a promise if the caller must wait before it adds more. */
  add(bytes: Uint8Array): Promise<void> | undefined;
  /** Adds the bytes that the mask has kept back. Call it once, after the last `add`. */
  end(): Promise<void>;
  /** The number of bytes so far, after masking. */
  readonly length: number;
  /** Reads at most `length` bytes from a position. */
  read(start: number, length: number): Promise<OutputSlice>;
  /** Returns the last line that is not empty. */
  lastLine(): string;
  close(): Promise<void>;
}

/** Number of bytes to keep from the end of an output that is too long to be stored completely. */
const maxTailBytes = 65_536;
/** Number of bytes in which the last line is searched. */
const maxLineBytes = 1000;

/**
 * Returns an output that can be read while it grows. It stores the first bytes up to a limit, in a file if
 * there are many, and the newest bytes in memory. The bytes between the two are dropped.
 */
export function liveOutput({ maxKeptBytes, mask, onOutput }: LiveOutputOptions): LiveOutput {
  const head = createOutputStore(maxKeptBytes);
  let tail: Buffer = Buffer.alloc(0);
  let length = 0;
  let isEnded = false;
  const add = (bytes: Uint8Array) => {
    if (bytes.length === 0) return undefined;
    length += bytes.length;
    // A cut copies the bytes, so the buffer grows to twice its limit first.
    tail = Buffer.concat([tail, bytes]);
    if (tail.length > 2 * maxTailBytes) tail = Buffer.from(tail.subarray(-maxTailBytes));
    const waits = [head.add(bytes), onOutput?.(bytes)].filter((one) => one !== undefined);
    return waits.length === 0 ? undefined : Promise.all(waits).then(() => {});
  };
  const bytesAt = async (start: number, count: number): Promise<Uint8Array> => {
    const tailStart = length - tail.length;
    if (start >= tailStart) return tail.subarray(start - tailStart, start - tailStart + count);
    return head.slice(start, Math.min(start + count, head.kept));
  };
  return {
    add: (bytes) => add(mask === undefined ? bytes : mask.add(bytes)),
    async end() {
      if (mask !== undefined) await add(mask.end());
      isEnded = true;
    },
    get length() {
      return length;
    },
    async read(asked, count) {
      const tailStart = length - tail.length;
      const isDropped = asked >= head.kept && asked < tailStart;
      const start = Math.min(isDropped ? tailStart : asked, length);
      const bytes = await bytesAt(start, count);
      const isLast = isEnded && start + bytes.length >= length;
      const whole = isLast ? bytes : withoutHalfCharacter(bytes);
      const note = isDropped ? `[… ${start - asked} bytes are left out here …]\n` : '';
      const next = start + whole.length;
      return { text: note + decode(whole), next, hasMore: next < length };
    },
    lastLine() {
      const lines = decode(tail.subarray(-maxLineBytes)).split(/\r\n|[\r\n]/);
      return lines.findLast((line) => line.trim() !== '')?.trim() ?? '';
    },
    close: () => head.close(),
  };
}

/** Some providers and stores do not accept NUL characters. */
function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes).replaceAll('\0', '\ufffd');
}

/** Removes the start of a character at the end of the bytes, so that the next read gets the whole character. */
function withoutHalfCharacter(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= Math.min(3, bytes.length - 1); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return bytes;
    const size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    if (size > back) return bytes.subarray(0, bytes.length - back);
    if (size > 1) return bytes;
  }
  return bytes;
}
