import { encodeRecord, type LogRecord } from '@millrace/core';
import type { SecretMask } from '@millrace/tools';

/** The fields of an encoded record that masking changes. */
interface EncodedRecord {
  readonly links?: unknown;
  readonly delta?: { type?: unknown; partId?: unknown; at?: unknown } & EncodedDelta;
}

interface EncodedDelta {
  chunk?: unknown;
  length?: unknown;
  part?: unknown;
}

/**
 * Returns the records as JSON, and masks keys and passwords that have a known form. A model can stream a key in
 * several pieces, so the pieces of one part are masked together. Their positions and lengths change with the text.
 */
export function maskedRecords(
  records: readonly LogRecord[],
  newMask: () => SecretMask,
): readonly string[] {
  const streamed = new Map<unknown, MaskedText>();
  const encoded = records.map((record) => {
    // Links are removed. They do not fit the masked records, and with them a short password could be guessed.
    const { delta, links: _links, ...rest } = JSON.parse(encodeRecord(record)) as EncodedRecord;
    if (delta === undefined) return maskStrings(rest, newMask);
    const { type, partId, chunk, part } = delta;
    if (type === 'append_text' && typeof chunk === 'string') {
      const text = streamed.get(partId) ?? new MaskedText(newMask());
      streamed.set(partId, text);
      text.add(delta as { at: number; chunk: string });
      return { ...rest, delta };
    }
    const text = type === 'commit_part' ? streamed.get(partId) : undefined;
    streamed.delete(partId);
    const length = text?.end();
    const masked = maskStrings(delta, newMask) as EncodedDelta;
    if (length !== undefined && part === undefined) masked.length = length;
    return { ...rest, delta: masked };
  });
  for (const text of streamed.values()) text.end();
  return encoded.map((record) => JSON.stringify(record));
}

/** A text that arrives in pieces, and whose pieces are replaced. */
class MaskedText {
  readonly #mask: SecretMask;
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  /** The first half of a character whose second half is in the next piece. */
  #half = '';
  #read = 0;
  #length = 0;
  #last: { chunk: string } | undefined;

  constructor(mask: SecretMask) {
    this.#mask = mask;
  }

  /** Masks a piece. The end of its text moves to the next piece if it can be the start of a key. */
  add(piece: { at: number; chunk: string }): void {
    const added = piece.chunk.slice(Math.max(0, this.#read - piece.at));
    this.#read += added.length;
    const text = this.#half + added;
    this.#half = /[\ud800-\udbff]$/.exec(text)?.[0] ?? '';
    const whole = text.slice(0, text.length - this.#half.length);
    piece.at = this.#length;
    piece.chunk = this.#decode(this.#mask.add(Buffer.from(whole)));
    this.#length += piece.chunk.length;
    this.#last = piece;
  }

  /** Adds the rest to the last piece. Returns the length of the whole text. */
  end(): number {
    const rest = this.#decode(this.#mask.end()) + this.#half;
    if (this.#last !== undefined) this.#last.chunk += rest;
    return this.#length + rest.length;
  }

  #decode(bytes: Uint8Array): string {
    return this.#decoder.decode(bytes, { stream: true });
  }
}

/** A shorter text contains no secret. */
const minSecretLength = 8;

/** Masks the secrets in a complete text. The text is not streamed, so no later part can complete a secret. */
export function maskText(text: string, newMask: () => SecretMask): string {
  if (text.length < minSecretLength) return text;
  const mask = newMask();
  const masked = Buffer.concat([mask.add(Buffer.from(text)), mask.end()]).toString();
  // Encoding replaces halves of characters, so an unchanged text must stay as it is.
  return masked === Buffer.from(text).toString() ? text : masked;
}

function maskStrings(value: unknown, newMask: () => SecretMask): unknown {
  if (typeof value === 'string') return maskText(value, newMask);
  if (Array.isArray(value)) return value.map((entry) => maskStrings(entry, newMask));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => [name, maskStrings(entry, newMask)]),
  );
}
