import { encodeBytes } from '../bytes.ts';
import {
  type Cassette,
  CassetteError,
  maxCassetteLength,
  type RecordedExchange,
  type RecordedRequest,
  type RecordedResponse,
} from '../cassette.ts';

export const cassetteVersion = 1;

/**
 * Encodes a cassette as JSON lines. The first line has the type `cassette`. Each exchange has the
 * lines `request`, `response`, one `chunk` for each read of the body, and `end`.
 */
export function encodeCassette({ exchanges, unrecorded }: Cassette): string {
  const lines: string[] = [];
  let length = 0;
  for (const line of allLines(exchanges, unrecorded)) {
    const text = JSON.stringify(line);
    length += text.length + 1;
    if (length > maxCassetteLength) throw tooLarge(exchanges.length);
    lines.push(text);
  }
  return `${lines.join('\n')}\n`;
}

function* allLines(
  exchanges: readonly RecordedExchange[],
  unrecorded: number | undefined,
): Generator<object> {
  yield { type: 'cassette', version: cassetteVersion, unrecorded };
  for (const { startMs, request, response, end } of exchanges) {
    yield requestLine(startMs, request);
    if (response !== undefined) yield* responseLines(response);
    const { atMs, how, error, clipped } = end;
    yield { type: 'end', atMs, how, error, clipped };
  }
}

function requestLine(startMs: number, request: RecordedRequest): object {
  const { method, url, headers, body, isBodyClipped } = request;
  const written = body === undefined ? {} : encodeBytes(body);
  return { type: 'request', startMs, method, url, headers, isBodyClipped, ...written };
}

function* responseLines({ chunks, ...head }: RecordedResponse): Generator<object> {
  const { atMs, status, statusText, headers } = head;
  yield { type: 'response', atMs, status, statusText, headers };
  for (const { atMs, bytes } of chunks) yield { type: 'chunk', atMs, ...encodeBytes(bytes) };
}

function tooLarge(count: number): CassetteError {
  const message = `Cannot write a cassette of ${count} exchanges: its text would exceed ${maxCassetteLength} characters; write fewer exchanges`;
  return new CassetteError('too_large', message);
}
