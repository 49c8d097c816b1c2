import { type JsonLimits, parseJson } from '@millrace/core';
import {
  type BodyEnd,
  bodyEndings,
  type Cassette,
  CassetteError,
  type ClippedContent,
  maxCassetteLength,
  type RecordedChunk,
  type RecordedError,
  type RecordedExchange,
  type RecordedRequest,
  type RecordedResponse,
} from '../cassette.ts';
import { cassetteVersion } from './encode-cassette.ts';
import { LineFields, lineError } from './line-fields.ts';

/**
 * Parses the text of a cassette. Throws a `CassetteError` with the line and the field if the text is not a
 * valid cassette. Each exchange must have an `end` line, so a recording that was cut off is an error.
 */
export function decodeCassette(text: string): Cassette {
  if (text.length > maxCassetteLength) throw tooLarge(text.length);
  const lines = new CassetteLines(text);
  const head = decodeHead(lines.take('cassette').fields);
  const exchanges: RecordedExchange[] = [];
  while (!lines.isAtEnd) exchanges.push(decodeExchange(lines));
  return { exchanges, ...head };
}

function decodeHead(fields: LineFields): Omit<Cassette, 'exchanges'> {
  const version = fields.integer('version', 1);
  if (version > cassetteVersion) {
    const why = `expected version ${cassetteVersion} or lower; a newer version of Millrace wrote this file, so update Millrace`;
    throw fields.fieldError('version', why, 'unsupported_version');
  }
  const unrecorded = fields.has('unrecorded')
    ? { unrecorded: fields.integer('unrecorded', 1) }
    : {};
  fields.assertNoMoreFields();
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
  throw fields.fieldError(
    'how',
    'expected cancelled or error, and nothing clipped, because there is no response',
  );
}

function tooLarge(length: number): CassetteError {
  const message = `Cannot read a cassette of ${length} characters: the limit is ${maxCassetteLength}; split it`;
  return new CassetteError('too_large', message);
}

type HeaderRecord = Readonly<Record<string, string>>;

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const lowerToken = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const oneLine = /^[\t\x20-\x7e\x80-\xff]*$/;

function decodeRequest(fields: LineFields): RecordedRequest {
  const method = fields.text('method', 'an HTTP method', token);
  const url = fields.text('url', 'a URL', /^[^\s]+$/);
  const headers = decodeHeaders(fields.object('headers'));
  const isBodyClipped = fields.has('isBodyClipped')
    ? fields.literalTrue('isBodyClipped')
    : undefined;
  const body = fields.bytes();
  fields.assertNoMoreFields();
  return {
    method,
    url,
    headers,
    ...(body === undefined ? {} : { body }),
    ...(isBodyClipped === undefined ? {} : { isBodyClipped }),
  };
}

function decodeResponse(fields: LineFields): Omit<RecordedResponse, 'chunks'> {
  const atMs = fields.ms('atMs', 0);
  const status = fields.integer('status', 100, 999);
  const statusText = fields.has('statusText')
    ? { statusText: fields.text('statusText', 'a text on one line', oneLine) }
    : {};
  const headers = decodeHeaders(fields.object('headers'));
  fields.assertNoMoreFields();
  return { atMs, status, ...statusText, headers };
}

function decodeHeaders(fields: LineFields): HeaderRecord {
  return fields.stringEntries((name) => lowerToken.test(name), 'a header in lower case', oneLine);
}

function decodeChunk(fields: LineFields, notBeforeMs: number): RecordedChunk {
  const atMs = fields.ms('atMs', notBeforeMs);
  const bytes = fields.bytes();
  fields.assertNoMoreFields();
  if (bytes !== undefined && bytes.length > 0) return { atMs, bytes };
  throw fields.fieldError('text', 'expected the bytes of a read as text or base64');
}

function decodeEnd(fields: LineFields, notBeforeMs: number): BodyEnd {
  const atMs = fields.ms('atMs', notBeforeMs);
  const how = fields.oneOf('how', bodyEndings);
  const error = how === 'error' ? { error: decodeError(fields.object('error')) } : {};
  const clipped = fields.has('clipped') ? { clipped: decodeClipped(fields.object('clipped')) } : {};
  fields.assertNoMoreFields();
  return { atMs, how, ...error, ...clipped };
}

function decodeError(fields: LineFields): RecordedError {
  const name = fields.text('name');
  const message = fields.text('message');
  const code = fields.has('code') ? { code: fields.text('code') } : {};
  const cause = fields.has('cause') ? { cause: decodeError(fields.object('cause')) } : {};
  fields.assertNoMoreFields();
  return { name, message, ...code, ...cause };
}

function decodeClipped(fields: LineFields): ClippedContent {
  const clipped = { chunks: fields.integer('chunks', 1), bytes: fields.integer('bytes', 0) };
  fields.assertNoMoreFields();
  return clipped;
}

interface CassetteLine<Type extends string> {
  readonly type: Type;
  readonly fields: LineFields;
}

const limits: JsonLimits = { maxDepth: 16, maxTextLength: maxCassetteLength };

/**
 * Reads the lines of a cassette in order. Each line must be an object with a type that is allowed
 * at its position.
 */
class CassetteLines {
  readonly #lines: readonly string[];
  #next = 0;

  constructor(text: string) {
    const lines = text.split('\n');
    if (lines.at(-1) === '') lines.pop();
    this.#lines = lines;
  }

  get isAtEnd(): boolean {
    return this.#next >= this.#lines.length;
  }

  take<Type extends string>(...types: readonly Type[]): CassetteLine<Type> {
    const text = this.#lines[this.#next++];
    const line = this.#next;
    if (text === undefined) throw unfinished(line, types);
    const parsed = parseJson(text, limits);
    if (!parsed.ok) {
      const { code, position, message } = parsed.failure;
      const why = `${message} (character ${position + 1})`;
      throw lineError(line, '$', why, code === 'too_large' ? code : 'not_json');
    }
    const fields = new LineFields(line, parsed.value);
    return { type: fields.oneOf('type', types), fields };
  }
}

function unfinished(line: number, types: readonly string[]): CassetteError {
  const message = `Cannot read line ${line} of a cassette: the text ends, but a line of type ${types.join(' or ')} is expected; the recording is incomplete`;
  return new CassetteError('unfinished', message, { line });
}
