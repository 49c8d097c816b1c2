import type { Cassette, RecordedExchange, RecordedRequest } from '../cassette.ts';
import { isAllowedHeader, redactUrl } from './redact-http.ts';
import { createRedactor, type Redactor } from './redactor.ts';

/** The location of a secret in a cassette. It never contains the secret itself. */
export interface SecretFinding {
  /** Index of the exchange in the cassette. */
  readonly exchange: number;
  /** The part of the exchange, for example `URL`, `request body` or `chunk 3`. */
  readonly location: string;
}

/**
 * Returns the location of each secret that a recorder with these secrets would have removed. If the cassette
 * is safe, the list is empty.
 */
export function findSecrets(
  { exchanges }: Cassette,
  secrets: readonly string[] = [],
): readonly SecretFinding[] {
  const redactor = createRedactor(secrets);
  return exchanges.flatMap((recorded, exchange) =>
    [...locationsIn(recorded, redactor)].map((location) => ({ exchange, location })),
  );
}

function* locationsIn(exchange: RecordedExchange, redactor: Redactor): Generator<string> {
  const { request, response, end } = exchange;
  yield* locationsInRequest(request, redactor);
  if (end.error !== undefined) {
    const text = JSON.stringify(end.error);
    if (redactor.text(text) !== text) yield 'error';
  }
  if (response === undefined) return;
  const { headers, statusText = '', chunks } = response;
  if (redactor.text(statusText) !== statusText) yield 'status text';
  for (const name of secretHeaders(headers, redactor)) yield `response header ${name}`;
  const bytes = chunks.map((chunk) => chunk.bytes);
  const clean = redactor.chunks(bytes, false);
  for (const [index, chunk] of bytes.entries()) {
    if (!isEqual(chunk, clean[index])) yield `chunk ${index}`;
  }
}

function* locationsInRequest(request: RecordedRequest, redactor: Redactor): Generator<string> {
  const { url, headers, body } = request;
  if (redactUrl(url, redactor) !== url) yield 'URL';
  for (const name of secretHeaders(headers, redactor)) yield `request header ${name}`;
  if (body !== undefined && !isEqual(body, redactor.bytes(body))) yield 'request body';
}

function secretHeaders(
  headers: Readonly<Record<string, string>>,
  redactor: Redactor,
): readonly string[] {
  const isSecret = ([name, value]: readonly [string, string]) =>
    !isAllowedHeader(name) || redactor.text(value) !== value;
  return Object.entries(headers)
    .filter(isSecret)
    .map(([name]) => name);
}

function isEqual(a: Uint8Array, b: Uint8Array | undefined): boolean {
  return b?.length === a.length && a.every((byte, index) => byte === b[index]);
}
