import { type BytesWriter, type DeltaWriter, fromBase64, type JsonObject } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import { objectIn, textIn } from '../json/fields.ts';

/** Writes a picture of an answer, from a data URL or another URL. */
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

/** Audio that streams as base64. The pieces can end anywhere. */
export class AudioBlock {
  readonly #part: BytesWriter;
  /** Base64 digits that do not fill a group of four yet. */
  #rest = '';

  constructor(writer: DeltaWriter, mimeType: string) {
    this.#part = writer.media(mimeType);
  }

  append(base64: string): void {
    const digits = this.#rest + base64;
    const whole = digits.length - (digits.length % 4);
    this.#rest = digits.slice(whole);
    this.#part.append(bytesOf(digits.slice(0, whole)));
  }

  commit(): void {
    if (this.#rest !== '') this.#part.append(bytesOf(this.#rest));
    this.#part.commit();
  }
}

function bytesOf(base64: string): Uint8Array {
  const padded = base64.padEnd(Math.ceil(base64.length / 4) * 4, '=');
  const bytes = fromBase64(padded);
  if (bytes === undefined)
    throw fault('protocol_error', 'the data of an image or audio part is not base64');
  return bytes;
}
