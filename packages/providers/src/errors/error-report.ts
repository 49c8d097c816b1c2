import { isJsonObject, type JsonObject, type JsonValue } from '@millrace/core';
import { objectIn, objectsIn, textIn } from '../json/fields.ts';
import { type ErrorReport, reportsError } from './wire-fault.ts';

/** Finds the provider's error in a JSON body or message. Returns undefined if there is none. */
export function errorReportIn(body: JsonValue | undefined): ErrorReport | undefined {
  if (Array.isArray(body)) return errorReportIn(body[0]);
  if (!isJsonObject(body) || !reportsError(body)) return undefined;
  const { error } = body;
  if (isJsonObject(error) && Object.keys(error).length > 0) return nestedReport(error, body);
  return flatReport(body, typeof error === 'string' && error !== '' ? error : messageIn(body));
}

/**
 * Reads the error from a body that has an error status. Unlike `errorReportIn`, it accepts any text as the
 * error.
 */
export function errorReportOfFailure(body: JsonValue | undefined, text: string): ErrorReport {
  const known = errorReportIn(body);
  if (known !== undefined) return known;
  const message = isJsonObject(body)
    ? (textIn(body, 'message') ?? textIn(body, 'detail'))
    : undefined;
  return flatReport(isJsonObject(body) ? body : {}, message ?? htmlTitle(text) ?? text.trim());
}

function nestedReport(error: JsonObject, body: JsonObject): ErrorReport {
  const { message, ...own } = flatReport(error, messageIn(error));
  // OpenRouter stores the error of the upstream provider in `metadata.raw`.
  const raw = textIn(objectIn(error, 'metadata'), 'raw');
  const details = objectsIn(error, 'details').flatMap((detail) => textIn(detail, 'reason') ?? []);
  const code = textIn(objectIn(error, 'details'), 'error_code');
  return {
    ...own,
    message: raw === undefined ? message : `${message} (${raw})`,
    codes: [...own.codes, ...details, ...(code === undefined ? [] : [code])],
    requestId: own.requestId ?? textIn(body, 'request_id'),
    delayText: JSON.stringify(error),
  };
}

function flatReport(error: JsonObject, message: string): ErrorReport {
  const codes = ['code', 'type', 'status'].flatMap((key) => textIn(error, key) ?? []);
  const status = ['code', 'status', 'status_code'].flatMap((key) => httpStatus(error[key]))[0];
  const requestId = textIn(error, 'request_id');
  return { message, codes, status, requestId, delayText: message };
}

function messageIn(error: JsonObject): string {
  return textIn(error, 'message') ?? JSON.stringify(error);
}

/**
 * Reads an HTTP error status from a number or a string of three digits. Returns an empty list for
 * other values.
 */
function httpStatus(value: JsonValue | undefined): number | readonly [] {
  const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === 'number' && status >= 400 && status < 600 ? status : [];
}

/**
 * Returns the whole title of an HTML page, because proxies send error pages as HTML. Keys are removed from it before it
 * is shortened.
 */
function htmlTitle(text: string): string | undefined {
  return /^\s*</.test(text) ? /<title>\s*([^<]+)/i.exec(text)?.[1]?.trim() : undefined;
}
