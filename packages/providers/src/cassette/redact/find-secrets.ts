import type { Cassette, RecordedExchange, RecordedRequest } from '../cassette.ts';
import { isKeptHeader, redactUrl } from './redact-http.ts';
import { createRedactor, type Redactor } from './redactor.ts';

/** Where a cassette has what a recorder would not have kept. Where, never what. */
export interface SecretFinding {
  /** The index of the exchange. */
  readonly exchange: number;
  readonly place: string;
}

/** Looks for what a recorder with these secrets would have taken out: nothing is what should be found. */
export function findSecrets(
  { exchanges }: Cassette,
  secrets: readonly string[] = [],
): readonly SecretFinding[] {
  const redactor = createRedactor(secrets);
  return exchanges.flatMap((one, exchange) =>
    [...placesIn(one, redactor)].map((place) => ({ exchange, place })),
  );
}

function* placesIn(exchange: RecordedExchange, redactor: Redactor): Generator<string> {
  const { request, response, end } = exchange;
  yield* placesInRequest(request, redactor);
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

function* placesInRequest(request: RecordedRequest, redactor: Redactor): Generator<string> {
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
    !isKeptHeader(name) || redactor.text(value) !== value;
  return Object.entries(headers)
    .filter(isSecret)
    .map(([name]) => name);
}

function isEqual(a: Uint8Array, b: Uint8Array | undefined): boolean {
  return b?.length === a.length && a.every((byte, index) => byte === b[index]);
}
