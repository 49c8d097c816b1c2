import { type Redactor, redacted } from './redactor.ts';

/** What a reader of a stream or a retry may need. Keys, cookies and accounts are none of it. */
const kept: readonly RegExp[] = [
  /^(?:accept|content-type|date)$/,
  /^retry-after(?:-ms)?$/,
  /^x-should-retry$/,
  /^(?:[a-z]+-)*ratelimit-[a-z0-9-]+$/,
  /^(?:[a-z]+-)*request-?id$/,
  /^anthropic-(?:version|beta)$/,
  /^openai-(?:version|beta|processing-ms|model)$/,
];

/** Does a recording keep a header of this name? All others are dropped, whatever they are. */
export function isKeptHeader(name: string): boolean {
  return kept.some((form) => form.test(name));
}

export function keepHeaders(
  headers: Headers,
  redactor: Redactor,
): Readonly<Record<string, string>> {
  const entries = [...headers].filter(([name]) => isKeptHeader(name));
  return Object.fromEntries(entries.map(([name, value]) => [name, redactor.text(value)]));
}

/** A fetch of one's own may take a path alone. */
const noOrigin = 'http://relative.invalid';

/** A name of which some word ends like this has a secret for a value. */
const secretName =
  /(?:key|token|secret|sig|signature|password|passwd|pwd|auth|authorization|credentials?|jwt|session|sid)$/i;

export function parseUrl(text: string): URL | null {
  return URL.parse(text, noOrigin);
}

/** The URL without user, password, fragment, and the values of parameters that look like keys. */
export function redactUrl(text: string, redactor: Redactor): string {
  const url = parseUrl(text);
  if (url === null) return 'about:invalid';
  url.username = '';
  url.password = '';
  url.hash = '';
  // By hand, because URLSearchParams would write all the others anew.
  url.search = url.search.slice(1).split('&').map(redactParameter).join('&');
  const { href, origin } = url;
  return redactor.text(origin === noOrigin ? href.slice(noOrigin.length) : href);
}

function redactParameter(parameter: string): string {
  const equals = parameter.indexOf('=');
  if (equals < 0) return parameter;
  const name = parameter.slice(0, equals);
  return isSecretName(name) ? `${name}=${redacted}` : parameter;
}

function isSecretName(encoded: string): boolean {
  const [name = ''] = new URLSearchParams(encoded).keys();
  const words = name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? [];
  return words.some((word) => secretName.test(word));
}
