import type { JsonObject, JsonValue } from '@millrace/core';
import { isObject, objectIn, objectsIn, textIn } from '../json/fields.ts';
import { textDelay } from './retry-delay.ts';
import type { Complaint } from './wire-fault.ts';

/** The complaint in a JSON body or message; undefined where it is none. */
export function complaintOf(body: JsonValue | undefined): Complaint | undefined {
  if (Array.isArray(body)) return complaintOf(body[0]);
  if (!isObject(body)) return undefined;
  const { error } = body;
  if (isObject(error) && Object.keys(error).length > 0) return nested(error, body);
  if (typeof error === 'string' && error !== '') return flat(body, error);
  const isNamed = body['object'] === 'error' || body['type'] === 'error';
  return isNamed ? flat(body, messageOf(body)) : undefined;
}

/** The same of a body that came with an error status, where any text is one. */
export function complaintOfFailure(body: JsonValue | undefined, text: string): Complaint {
  const known = complaintOf(body);
  if (known !== undefined) return known;
  const message = isObject(body) ? (textIn(body, 'message') ?? textIn(body, 'detail')) : undefined;
  return flat(isObject(body) ? body : {}, message ?? titleOf(text) ?? text.trim());
}

function nested(error: JsonObject, body: JsonObject): Complaint {
  const { message, ...own } = flat(error, messageOf(error));
  // OpenRouter keeps what the provider behind it said here.
  const raw = textIn(objectIn(error, 'metadata'), 'raw');
  const details = objectsIn(error, 'details').flatMap((detail) => textIn(detail, 'reason') ?? []);
  const code = textIn(objectIn(error, 'details'), 'error_code');
  return {
    ...own,
    message: raw === undefined ? message : `${message} (${raw})`,
    words: [...own.words, ...details, ...(code === undefined ? [] : [code])],
    requestId: own.requestId ?? textIn(body, 'request_id'),
    retryAfterMs: textDelay(JSON.stringify(error)),
  };
}

function flat(error: JsonObject, message: string): Complaint {
  const words = ['code', 'type', 'status'].flatMap((key) => textIn(error, key) ?? []);
  const status = ['code', 'status', 'status_code'].flatMap((key) => statusOf(error[key]))[0];
  const requestId = textIn(error, 'request_id');
  return { message, words, status, requestId, retryAfterMs: textDelay(message) };
}

function messageOf(error: JsonObject): string {
  return textIn(error, 'message') ?? JSON.stringify(error);
}

/** A number, or the digits of one. */
function statusOf(value: JsonValue | undefined): number | readonly [] {
  const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === 'number' && status >= 400 && status < 600 ? status : [];
}

/** What a web page is about. */
function titleOf(text: string): string | undefined {
  return /^\s*</.test(text) ? /<title>\s*([^<]{1,200})/i.exec(text)?.[1]?.trim() : undefined;
}
