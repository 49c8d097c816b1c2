import { type JsonLimits, type JsonObject, type JsonValue, parseJson } from '@millrace/core';
import { tryDecodeUtf8 } from '../bytes.ts';
import {
  type Cassette,
  CassetteError,
  type RecordedExchange,
  type RecordedRequest,
} from '../cassette.ts';
import { parseUrl } from '../redact/redact-http.ts';

/** The exchanges that have not answered a request yet. */
export class UnusedExchanges {
  readonly #unused: Map<number, RecordedExchange>;
  readonly #count: number;
  #requests = 0;

  constructor({ exchanges }: Cassette) {
    this.#unused = new Map(exchanges.entries());
    this.#count = exchanges.length;
  }

  /**
   * Removes and returns the first exchange that matches the request. It searches all exchanges, because
   * concurrent requests may arrive in a different order than in the recording.
   */
  take(request: RecordedRequest): RecordedExchange {
    this.#requests += 1;
    let differences: readonly string[] | undefined;
    for (const [index, exchange] of this.#unused) {
      const found = requestDifferences(exchange.request, request);
      if (found.length === 0) {
        this.#unused.delete(index);
        return exchange;
      }
      // The error describes the first unused exchange, because the request was most likely meant
      // for it.
      differences ??= found;
    }
    throw this.#refusal(request, differences);
  }

  /** Throws if the cassette has unused exchanges. */
  assertNone(): void {
    const [first] = this.#unused.entries();
    if (first === undefined) return;
    const [index, { request }] = first;
    const { method, url } = request;
    const path = parseUrl(url)?.pathname;
    const message = `${this.#unused.size} of ${this.#count} exchanges of the cassette were not used, first exchange ${index}, ${method} ${path}: the program sent fewer requests than recorded. Record the cassette again if that is right`;
    throw new CassetteError('unused', message, { exchange: index, method, path });
  }

  #refusal({ method, url }: RecordedRequest, differences?: readonly string[]): CassetteError {
    const path = parseUrl(url)?.pathname;
    const what = `Cannot answer request ${this.#requests}, ${method} ${path}`;
    const place = { request: this.#requests, method, path };
    if (differences === undefined) {
      const why = `all ${this.#count} exchanges of the cassette have been used; record it again`;
      return new CassetteError('exhausted', `${what}: ${why}`, place);
    }
    const [next] = this.#unused.keys();
    const why = `exchange ${next}, the next unused one, differs in ${differences.join(', ')}`;
    const advice = 'record it again, or pass the secrets of the request in `secrets`';
    return new CassetteError('no_match', `${what}: ${why}; ${advice}`, {
      ...place,
      exchange: next,
    });
  }
}

const maxPaths = 5;

/**
 * Returns the differences between a request and a recorded request, without their values. An empty list means
 * that they match. The host is not compared, so a recording works with any base URL. Fields that identify the
 * session are not compared either.
 */
function requestDifferences(
  recorded: RecordedRequest,
  requested: RecordedRequest,
): readonly string[] {
  return [
    ...(recorded.method === requested.method ? [] : [`method (${recorded.method} was recorded)`]),
    ...urlDifferences(recorded.url, requested.url),
    ...bodyDifferences(recorded, requested),
  ];
}

function urlDifferences(recorded: string, requested: string): readonly string[] {
  const [a, b] = [parseUrl(recorded), parseUrl(requested)];
  if (a?.pathname !== b?.pathname) return [`path (${a?.pathname} was recorded)`];
  const names = new Set([...(a?.searchParams.keys() ?? []), ...(b?.searchParams.keys() ?? [])]);
  const valuesOf = (url: URL | null, name: string) =>
    JSON.stringify(url?.searchParams.getAll(name));
  return [...names]
    .filter((name) => valuesOf(a, name) !== valuesOf(b, name))
    .map((name) => `query parameter ${name}`);
}

const nothing = new Uint8Array();

function bodyDifferences(recorded: RecordedRequest, requested: RecordedRequest): readonly string[] {
  if (recorded.isBodyClipped) return ['body (it was too large to be recorded)'];
  if (requested.isBodyClipped) return ['body (it is too large to be compared)'];
  const [a, b] = [recorded.body ?? nothing, requested.body ?? nothing];
  const at = firstDifference(a, b);
  if (at === undefined) return [];
  const [ofA, ofB] = [parseBody(a), parseBody(b)];
  if (!ofA?.ok || !ofB?.ok) return [`body at byte ${at}`];
  const [comparedA, comparedB] = [withoutSessionFields(ofA.value), withoutSessionFields(ofB.value)];
  const paths = jsonDifferences(comparedA, comparedB, maxPaths + 1);
  const shown = paths.slice(0, maxPaths).map((path) => `body at ${path}`);
  return paths.length > maxPaths ? [...shown, 'more of the body'] : shown;
}

/**
 * The fields that identify the session. Providers use them to find their prompt cache. They differ in each
 * run, and the answer does not depend on them.
 */
const sessionFields: ReadonlySet<string> = new Set(['prompt_cache_key', 'session_id']);

function withoutSessionFields(body: JsonValue): JsonValue {
  if (!isContainer(body) || Array.isArray(body)) return body;
  return Object.fromEntries(Object.entries(body).filter(([name]) => !sessionFields.has(name)));
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

/** Returns up to `max` paths at which two values differ, such as `$.messages[1].content`. */
function jsonDifferences(
  a: JsonValue,
  b: JsonValue,
  max: number,
  path: string = '$',
): readonly string[] {
  if (a === b) return [];
  if (!isContainer(a) || !isContainer(b) || Array.isArray(a) !== Array.isArray(b)) return [path];
  const found: string[] = [];
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    if (found.length >= max) break;
    const inside = path + step(key, Array.isArray(a));
    if (!Object.hasOwn(a, key) || !Object.hasOwn(b, key)) found.push(inside);
    else found.push(...jsonDifferences(a[key] ?? null, b[key] ?? null, max - found.length, inside));
  }
  return found;
}

// Returns whether a value is an object or an array. Arrays are compared like objects, with their
// indices as keys.
function isContainer(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null;
}

const maxKeyLength = 40;

function step(key: string, isIndex: boolean): string {
  if (isIndex) return `[${key}]`;
  if (/^[A-Za-z_][\w-]*$/.test(key) && key.length <= maxKeyLength) return `.${key}`;
  return `[${JSON.stringify(key.slice(0, maxKeyLength))}]`;
}
