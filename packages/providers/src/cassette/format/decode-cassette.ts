import type { BodyEnd, Cassette, RecordedChunk, RecordedExchange } from '../cassette.ts';
import { CassetteError } from '../cassette-error.ts';
import { maxCassetteLength } from '../cassette-limits.ts';
import { CassetteLines } from './cassette-lines.ts';
import { decodeChunk, decodeEnd, decodeRequest, decodeResponse } from './decode-line.ts';
import { cassetteVersion } from './encode-cassette.ts';
import type { LineFields } from './line-fields.ts';

/**
 * The cassette that a text is. Throws a `CassetteError` with the line and the field where it is not
 * one, and where an exchange has no end: a recording that was cut is never taken for a whole one.
 */
export function decodeCassette(text: string): Cassette {
  if (text.length > maxCassetteLength) throw tooLarge(text.length);
  const lines = new CassetteLines(text);
  const head = decodeHead(lines.take('cassette').fields);
  const exchanges: RecordedExchange[] = [];
  while (!lines.isOver) exchanges.push(decodeExchange(lines));
  return { exchanges, ...head };
}

function decodeHead(fields: LineFields): Omit<Cassette, 'exchanges'> {
  const version = fields.whole('version', 1);
  if (version > cassetteVersion) {
    const why = `expected version ${cassetteVersion}; it was written by a later Millrace: update this one`;
    throw fields.misfit('version', why, 'unsupported_version');
  }
  const unrecorded = fields.has('unrecorded') ? { unrecorded: fields.whole('unrecorded', 1) } : {};
  fields.end();
  return unrecorded;
}

function decodeExchange(lines: CassetteLines): RecordedExchange {
  const { fields } = lines.take('request');
  const startMs = fields.ms('startMs', 0);
  const request = decodeRequest(fields);
  return { startMs, request, ...decodeAnswer(lines) };
}

function decodeAnswer(lines: CassetteLines): Pick<RecordedExchange, 'response' | 'end'> {
  const { type, fields } = lines.take('response', 'end');
  if (type === 'end') return { end: decodeEndWithoutResponse(fields) };
  const head = decodeResponse(fields);
  const chunks: RecordedChunk[] = [];
  for (;;) {
    const lastMs = chunks.at(-1)?.atMs ?? head.atMs;
    const { type, fields } = lines.take('chunk', 'end');
    if (type === 'end') return { response: { ...head, chunks }, end: decodeEnd(fields, lastMs) };
    chunks.push(decodeChunk(fields, lastMs));
  }
}

function decodeEndWithoutResponse(fields: LineFields): BodyEnd {
  const end = decodeEnd(fields, 0);
  if (end.how !== 'end' && end.clipped === undefined) return end;
  throw fields.misfit('how', 'expected cancelled or error and nothing clipped: no response came');
}

function tooLarge(length: number): CassetteError {
  const message = `Cannot read a cassette of ${length} characters: the limit is ${maxCassetteLength}; split it`;
  return new CassetteError('too_large', message);
}
