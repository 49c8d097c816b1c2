import { minSecretLength } from '../../errors/secret-words.ts';
import { type Redactor, redacted } from './redactor.ts';

/**
 * The headers that a recording contains. The code that reads a stream or retries a request may need them.
 * They contain no keys, cookies or account ids.
 */
const allowedHeaders: readonly RegExp[] = [
  /^(?:accept|content-type|date)$/,
  /^retry-after(?:-ms)?$/,
  /^x-should-retry$/,
  /^(?=(?:[a-z]+-)*ratelimit-)[a-z0-9-]+$/,
  /^(?:[a-z]+-)*request-?id$/,
  /^anthropic-(?:version|beta)$/,
  /^openai-(?:version|beta|processing-ms|model)$/,
];

/** Returns whether a recording contains the header with this name. All other headers are dropped. */
export function isAllowedHeader(name: string): boolean {
  return allowedHeaders.some((form) => form.test(name));
}

export function redactHeaders(
  headers: Headers,
  redactor: Redactor,
): Readonly<Record<string, string>> {
  const entries = [...headers].filter(([name]) => isAllowedHeader(name));
  return Object.fromEntries(entries.map(([name, value]) => [name, redactor.text(value)]));
}

/** The origin for URLs that have no origin. A custom fetch may accept a path without an origin. */
const noOrigin = 'http://relative.invalid';

/** Matches the ends of the names of parameters that have secret values. */
const secretName =
  /(?:key|token|secret|sig|signature|password|passwd|pwd|auth|authorization|credentials?|jwt|session|sid)$/i;

export function parseUrl(text: string): URL | null {
  return URL.parse(text, noOrigin);
}

/**
 * Removes the user, password and fragment of a URL, and the values of parameters that look like
 * keys.
 */
export function redactUrl(text: string, redactor: Redactor): string {
  const url = parseUrl(text);
  if (url === null) return 'about:invalid';
  url.username = '';
  url.password = '';
  url.hash = '';
  // The query is edited as text, because URLSearchParams would change the encoding of all other parameters.
  url.search = url.search.slice(1).split('&').map(redactParameter).join('&');
  const { href, origin } = url;
  return redactor.text(origin === noOrigin ? href.slice(noOrigin.length) : href);
}

/** Returns the user, the password and the values of secret parameters in a URL. It omits short values. */
export function secretParameters(text: string): readonly string[] {
  const url = parseUrl(text);
  if (url === null) return [];
  const found = [...url.searchParams].flatMap(([name, value]) => (isSecretWord(name) ? value : []));
  return [url.username, url.password, ...found].filter(({ length }) => length >= minSecretLength);
}

function redactParameter(parameter: string): string {
  const equals = parameter.indexOf('=');
  if (equals < 0) return parameter;
  const name = parameter.slice(0, equals);
  return isSecretName(name) ? `${name}=${redacted}` : parameter;
}

function isSecretName(encoded: string): boolean {
  const [name = ''] = new URLSearchParams(encoded).keys();
  return isSecretWord(name);
}

function isSecretWord(name: string): boolean {
  const words = name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? [];
  return words.some((word) => secretName.test(word));
}
