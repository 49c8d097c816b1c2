import { type JsonLimits, parseJson } from '@millrace/core';
import { tryDecodeUtf8 } from '../bytes/utf8.ts';
import type { RecordedRequest } from '../cassette.ts';
import { parseUrl } from '../redact/redact-url.ts';
import { jsonDifferences } from './json-differences.ts';

const maxPaths = 5;

/**
 * What sets a request apart from a recorded one, in words and without values; nothing if they match.
 * The host is not compared, so that a recording serves whatever address a client was given.
 */
export function requestDifferences(
  recorded: RecordedRequest,
  asked: RecordedRequest,
): readonly string[] {
  return [
    ...(recorded.method === asked.method ? [] : [`method (${recorded.method} was recorded)`]),
    ...urlDifferences(recorded.url, asked.url),
    ...bodyDifferences(recorded, asked),
  ];
}

function urlDifferences(recorded: string, asked: string): readonly string[] {
  const [a, b] = [parseUrl(recorded), parseUrl(asked)];
  if (a?.pathname !== b?.pathname) return [`path (${a?.pathname} was recorded)`];
  const names = new Set([...(a?.searchParams.keys() ?? []), ...(b?.searchParams.keys() ?? [])]);
  const valuesOf = (url: URL | null, name: string) =>
    JSON.stringify(url?.searchParams.getAll(name));
  return [...names]
    .filter((name) => valuesOf(a, name) !== valuesOf(b, name))
    .map((name) => `query parameter ${name}`);
}

const nothing = new Uint8Array();

function bodyDifferences(recorded: RecordedRequest, asked: RecordedRequest): readonly string[] {
  if (recorded.isBodyClipped) return ['body (it was too large to be recorded)'];
  if (asked.isBodyClipped) return ['body (it is too large to be compared)'];
  const [a, b] = [recorded.body ?? nothing, asked.body ?? nothing];
  const at = firstDifference(a, b);
  if (at === undefined) return [];
  const [ofA, ofB] = [parseBody(a), parseBody(b)];
  if (!ofA?.ok || !ofB?.ok) return [`body at byte ${at}`];
  const paths = jsonDifferences(ofA.value, ofB.value, maxPaths + 1);
  const shown = paths.slice(0, maxPaths).map((path) => `body at ${path}`);
  return paths.length > maxPaths ? [...shown, 'more of the body'] : shown;
}

function firstDifference(a: Uint8Array, b: Uint8Array): number | undefined {
  const at = a.findIndex((byte, index) => byte !== b[index]);
  if (at >= 0) return at;
  return a.length === b.length ? undefined : a.length;
}

const limits: JsonLimits = { maxDepth: 256, maxTextLength: 128 * 2 ** 20, maxValues: 2 ** 22 };

function parseBody(bytes: Uint8Array): ReturnType<typeof parseJson> | undefined {
  const text = tryDecodeUtf8(bytes);
  return text === undefined ? undefined : parseJson(text, limits);
}
