import { type BytesWriter, type DeltaWriter, fromBase64, type JsonObject } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import type { StateOwner } from '../history/sendable-parts.ts';
import { objectIn, textIn } from '../json/fields.ts';

/** Writes an image of an answer, from a data URL or an ordinary URL. */
export function writeImage(writer: DeltaWriter, image: JsonObject): void {
  const url = textIn(objectIn(image, 'image_url'), 'url');
  if (url === undefined) return;
  const [, mimeType, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? [];
  if (mimeType === undefined || data === undefined) {
    writer.whole({ kind: 'media', mimeType: 'image/*', source: { type: 'url', url } });
    return;
  }
  const bytes = bytesOf(data);
  writer.whole({ kind: 'media', mimeType, source: { type: 'bytes', bytes } });
}

/** Audio that streams as base64. A piece can end at any digit. */
export class AudioBlock {
  readonly #begin: () => BytesWriter;
  #part: BytesWriter | undefined;
  /** Base64 digits that do not fill a group of four yet. */
  #rest = '';
  /** The id with which the provider can find the audio again, and the time at which it deletes the audio. */
  #reference: JsonObject = {};

  constructor(writer: DeltaWriter, mimeType: string) {
    this.#begin = () => writer.media(mimeType);
  }

  /** Adds a piece. A piece contains data, the id or the expiry time. */
  add({ id, expires_at, data }: JsonObject): void {
    if (typeof id === 'string' && id !== '') this.#reference = { ...this.#reference, id };
    if (typeof expires_at === 'number') this.#reference = { ...this.#reference, expires_at };
    if (typeof data === 'string' && data !== '') this.#append(data);
  }

  commit({ provider, model }: StateOwner): void {
    if (this.#rest !== '') this.#part?.append(bytesOf(this.#rest));
    const isKnown = this.#reference['id'] !== undefined;
    const providerState = { provider, model, data: { audio: this.#reference } };
    this.#part?.commit(isKnown ? { providerState } : {});
  }

  #append(base64: string): void {
    const digits = this.#rest + base64;
    const whole = digits.length - (digits.length % 4);
    this.#rest = digits.slice(whole);
    this.#part ??= this.#begin();
    this.#part.append(bytesOf(digits.slice(0, whole)));
  }
}

function bytesOf(base64: string): Uint8Array {
  const padded = base64.padEnd(Math.ceil(base64.length / 4) * 4, '=');
  const bytes = fromBase64(padded);
  if (bytes === undefined)
    throw fault('protocol_error', 'the data of an image or audio part is not base64');
  return bytes;
}
