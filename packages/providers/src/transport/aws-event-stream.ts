import { isJsonObject, parseJson } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import { textIn } from '../json/fields.ts';

interface EventStreamOptions {
  readonly onMessage: (data: string, event: string | undefined) => void;
  /** Maximum length of one message in bytes. A longer message is an error. */
  readonly maxEventLength: number;
}

/**
 * The length of the prelude, in bytes. The prelude is before the headers. It contains two lengths and a
 * checksum.
 */
const preludeLength = 12;
const checksumLength = 4;

/**
 * Converts the binary messages of an AWS event stream to the messages of the model. Each binary message has a
 * checksum. An error message becomes an event with the name `error`.
 */
export class AwsEventStreamReader {
  readonly #options: EventStreamOptions;
  readonly #decoder = new TextDecoder();
  /**
   * The pieces of a message whose end has not arrived yet. They are joined only once, when the end arrives.
   */
  readonly #held: Uint8Array[] = [];
  #heldLength = 0;
  /** The length of the incomplete message. It is 0 until the prelude has arrived. */
  #wanted = 0;

  constructor(options: EventStreamOptions) {
    this.#options = options;
  }

  feed(bytes: Uint8Array): void {
    this.#held.push(bytes);
    this.#heldLength += bytes.length;
    if (this.#heldLength < Math.max(this.#wanted, preludeLength)) return;
    let rest = this.#joined();
    for (;;) {
      this.#wanted = rest.length < preludeLength ? 0 : this.#lengthOf(rest);
      if (this.#wanted === 0 || rest.length < this.#wanted) break;
      this.#read(rest.subarray(0, this.#wanted));
      rest = rest.subarray(this.#wanted);
    }
    if (rest.length > 0) this.#held.push(rest);
    this.#heldLength = rest.length;
  }

  /**
   * Drops a message that has not arrived completely. A later check detects whether the answer was complete.
   */
  end(): void {
    this.#held.length = 0;
    this.#heldLength = 0;
  }

  #joined(): Uint8Array {
    const [first = new Uint8Array()] = this.#held;
    const parts = this.#held.splice(0);
    if (parts.length === 1) return first;
    const joined = new Uint8Array(this.#heldLength);
    let at = 0;
    for (const part of parts) {
      joined.set(part, at);
      at += part.length;
    }
    return joined;
  }

  #lengthOf(bytes: Uint8Array): number {
    const view = viewOf(bytes);
    if (view.getUint32(8) !== crc32(bytes.subarray(0, 8))) throw damaged();
    const length = view.getUint32(0);
    const hasRoom = length >= preludeLength + view.getUint32(4) + checksumLength;
    if (!hasRoom) throw damaged();
    const { maxEventLength } = this.#options;
    if (length <= maxEventLength) return length;
    const limit = `the limit of ${maxEventLength} bytes`;
    throw fault('protocol_error', `an event is longer than ${limit}`);
  }

  #read(message: Uint8Array): void {
    const view = viewOf(message);
    const end = message.length - checksumLength;
    if (view.getUint32(end) !== crc32(message.subarray(0, end))) throw damaged();
    const headersEnd = preludeLength + view.getUint32(4);
    const headers = this.#headersIn(message.subarray(preludeLength, headersEnd));
    const payload = this.#decoder.decode(message.subarray(headersEnd, end));
    const problem = headers.get(':exception-type') ?? headers.get(':error-code');
    if (problem !== undefined)
      return this.#onError(problem, payload || (headers.get(':error-message') ?? ''));
    if (headers.get(':event-type') !== 'chunk') return;
    this.#options.onMessage(this.#chunkIn(payload), undefined);
  }

  /** Returns the model's message from a chunk. The chunk is JSON that contains the message as base64. */
  #chunkIn(payload: string): string {
    const bytes = textFieldIn(payload, 'bytes');
    if (bytes === undefined) throw fault('protocol_error', 'a chunk of the stream has no bytes');
    return this.#decoder.decode(Uint8Array.from(atob(bytes), (char) => char.charCodeAt(0)));
  }

  #onError(type: string, payload: string): void {
    const message = textFieldIn(payload, 'message') ?? payload;
    this.#options.onMessage(JSON.stringify({ type: 'error', error: { type, message } }), 'error');
  }

  /** Returns the headers that have text values. All other headers are skipped. */
  #headersIn(bytes: Uint8Array): ReadonlyMap<string, string> {
    const headers = new Map<string, string>();
    const view = viewOf(bytes);
    try {
      for (let at = 0; at < bytes.length; ) {
        const nameEnd = at + 1 + view.getUint8(at);
        const name = this.#decoder.decode(bytes.subarray(at + 1, nameEnd));
        const type = view.getUint8(nameEnd);
        const isSized = type === textType || type === bytesType;
        const start = nameEnd + 1 + (isSized ? 2 : 0);
        const length = isSized ? view.getUint16(nameEnd + 1) : fixedLengths[type];
        if (length === undefined || start + length > bytes.length) throw damaged();
        if (type === textType)
          headers.set(name, this.#decoder.decode(bytes.subarray(start, start + length)));
        at = start + length;
      }
    } catch (error) {
      throw error instanceof RangeError ? damaged() : error;
    }
    return headers;
  }
}

const bytesType = 6;
const textType = 7;
/**
 * The length of each type of header value. The types are true, false, byte, short, integer, long,
 * bytes, text, time and UUID. Undefined means that the length varies.
 */
const fixedLengths = [0, 0, 1, 2, 4, 8, undefined, undefined, 8, 16];

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

function textFieldIn(json: string, name: string): string | undefined {
  const parsed = parseJson(json);
  return parsed.ok && isJsonObject(parsed.value) ? textIn(parsed.value, name) : undefined;
}

function damaged() {
  return fault('protocol_error', 'a message of the event stream is damaged');
}

/** The CRC of each possible byte value. */
const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

/** Returns the CRC-32 checksum, which ZIP and Ethernet also use. */
function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ (crcTable[(crc ^ byte) & 0xff] ?? 0);
  return (crc ^ 0xffffffff) >>> 0;
}
