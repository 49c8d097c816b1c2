import type { HttpRequest } from '../transport/http-request.ts';
import type { UploadContent } from './file-storage.ts';

/**
 * Returns the request with a form that contains a file. The form is built without `FormData`, so that a
 * custom `fetch` receives bytes.
 */
export function withForm(
  request: HttpRequest,
  fields: Readonly<Record<string, string>>,
  { name, mimeType, bytes }: UploadContent,
  /** A text that does not occur in the file. Default: a random text. */
  boundary: string = `millrace-${crypto.randomUUID()}`,
): HttpRequest {
  const texts = Object.entries(fields).map(
    ([field, value]) =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${field}"\r\n\r\n${value}\r\n`,
  );
  const file = `Content-Disposition: form-data; name="file"; filename="${quoted(name)}"`;
  const head = `${texts.join('')}--${boundary}\r\n${file}\r\nContent-Type: ${mimeType}\r\n\r\n`;
  const content = joined([encoded(head), bytes, encoded(`\r\n--${boundary}--\r\n`)]);
  const type = `multipart/form-data; boundary=${boundary}`;
  return { ...request, headers: { ...request.headers, 'content-type': type }, content };
}

/** Escapes a file name in the same way as browsers. */
function quoted(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function encoded(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
