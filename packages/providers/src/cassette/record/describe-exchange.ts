import {
  type BodyEnd,
  isWhole,
  type RecordedExchange,
  type RecordedRequest,
  type RecordedResponse,
} from '../cassette.ts';
import { recordError } from '../recorded-error.ts';
import { keepHeaders } from '../redact/keep-headers.ts';
import type { Redactor } from '../redact/redactor.ts';
import type { Tape, TapeEnd } from './tape.ts';

/** What the tape heard, without its secrets. */
export function describeExchange(
  startMs: number,
  request: RecordedRequest,
  tape: Tape,
  ended: TapeEnd,
  redactor: Redactor,
): RecordedExchange {
  const end = describeEnd(ended, redactor);
  const response = describeResponse(tape, end, redactor);
  return { startMs, request, ...(response === undefined ? {} : { response }), end };
}

function describeEnd({ error, ...end }: TapeEnd, { text }: Redactor): BodyEnd {
  return end.how === 'error' ? { ...end, error: recordError(error, text) } : end;
}

function describeResponse(
  { head, chunks }: Tape,
  end: BodyEnd,
  redactor: Redactor,
): RecordedResponse | undefined {
  if (head === undefined) return undefined;
  const { atMs, response } = head;
  const { status, statusText, headers } = response;
  const clean = redactor.chunks(
    chunks.map(({ bytes }) => bytes),
    !isWhole(end),
  );
  return {
    atMs,
    status,
    ...(statusText === '' ? {} : { statusText: redactor.text(statusText) }),
    headers: keepHeaders(headers, redactor),
    chunks: clean.map((bytes, index) => ({ atMs: chunks[index]?.atMs ?? atMs, bytes })),
  };
}
