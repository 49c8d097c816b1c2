import {
  type BodyEnd,
  type Clipped,
  endings,
  type RecordedChunk,
  type RecordedError,
  type RecordedRequest,
  type RecordedResponse,
} from '../cassette.ts';
import type { LineFields } from './line-fields.ts';

type Texts = Readonly<Record<string, string>>;

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const lowerToken = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const oneLine = /^[\t\x20-\x7e\x80-\xff]*$/;

export function decodeRequest(fields: LineFields): RecordedRequest {
  const method = fields.text('method', 'an HTTP method', token);
  const url = fields.text('url', 'a URL', /^[^\s]+$/);
  const headers = decodeHeaders(fields.object('headers'));
  const isBodyClipped = fields.has('isBodyClipped') ? fields.yes('isBodyClipped') : undefined;
  const body = fields.bytes();
  fields.end();
  return {
    method,
    url,
    headers,
    ...(body === undefined ? {} : { body }),
    ...(isBodyClipped === undefined ? {} : { isBodyClipped }),
  };
}

export function decodeResponse(fields: LineFields): Omit<RecordedResponse, 'chunks'> {
  const atMs = fields.ms('atMs', 0);
  const status = fields.whole('status', 100, 999);
  const statusText = fields.has('statusText')
    ? { statusText: fields.text('statusText', 'a text on one line', oneLine) }
    : {};
  const headers = decodeHeaders(fields.object('headers'));
  fields.end();
  return { atMs, status, ...statusText, headers };
}

function decodeHeaders(fields: LineFields): Texts {
  return fields.texts((name) => lowerToken.test(name), 'a header in lower case', oneLine);
}

export function decodeChunk(fields: LineFields, notBeforeMs: number): RecordedChunk {
  const atMs = fields.ms('atMs', notBeforeMs);
  const bytes = fields.bytes();
  fields.end();
  if (bytes !== undefined && bytes.length > 0) return { atMs, bytes };
  throw fields.misfit('text', 'expected the bytes of a read as text or base64');
}

export function decodeEnd(fields: LineFields, notBeforeMs: number): BodyEnd {
  const atMs = fields.ms('atMs', notBeforeMs);
  const how = fields.oneOf('how', endings);
  const error = how === 'error' ? { error: decodeError(fields.object('error')) } : {};
  const clipped = fields.has('clipped') ? { clipped: decodeClipped(fields.object('clipped')) } : {};
  fields.end();
  return { atMs, how, ...error, ...clipped };
}

function decodeError(fields: LineFields): RecordedError {
  const name = fields.text('name');
  const message = fields.text('message');
  const code = fields.has('code') ? { code: fields.text('code') } : {};
  const cause = fields.has('cause') ? { cause: decodeError(fields.object('cause')) } : {};
  fields.end();
  return { name, message, ...code, ...cause };
}

function decodeClipped(fields: LineFields): Clipped {
  const clipped = { chunks: fields.whole('chunks', 1), bytes: fields.whole('bytes', 0) };
  fields.end();
  return clipped;
}
