import { SdkHttpError } from '@modelcontextprotocol/client';
import type { McpServer } from '../../contract/mcp-server.ts';
import { looksSecret } from '../../shell/safe-env.ts';

/** Shortens a text to a maximum length and marks the cut with `…`. */
export function clip(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text.toWellFormed();
  return `${text.slice(0, Math.max(0, maxLength - 1)).toWellFormed()}…`;
}

/**
 * Returns a description of an error and its cause. It does not remove secrets and does not shorten the text.
 */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (SdkHttpError.isInstance(error)) return explainHttp(error);
  // The error of `fetch` has only the message "fetch failed". Its cause contains the reason.
  const cause = error.cause instanceof Error ? error.cause : undefined;
  const more = cause === undefined ? [] : [cause.message || codeOf(cause)];
  return [error.message, ...more].filter((text) => text !== '').join(': ') || error.name;
}

function explainHttp({ status, statusText, data, message }: SdkHttpError): string {
  const text = typeof data['text'] === 'string' ? data['text'].trim() : message;
  return [`HTTP ${status}${statusText ? ` ${statusText}` : ''}`, text]
    .filter((part) => part !== '')
    .join(': ');
}

/** Returns the code of an error. An error about several failed addresses has a code but no message. */
function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : error.name;
}

/** A function that replaces secrets in a text with a placeholder. */
export type Redact = (text: string) => string;

const placeholder = '[secret]';
// The minimum length of a secret. Shorter values are often ordinary words such as `true`. Redacting them
// would make error messages unreadable.
const minSecretLength = { header: 4, variable: 8 };

/**
 * Creates a function that removes the values of headers, query parameters and environment variables of a server, and
 * the keys in the path of its address, from a text.
 */
export function createRedactor(
  { http, stdio }: McpServer,
  /** Secrets that change, such as the tokens of a login. */
  current: { readonly secrets: Iterable<string> } = { secrets: [] },
): Redact {
  const secrets =
    http === undefined
      ? Object.values(stdio.env ?? {}).filter((value) => value.length >= minSecretLength.variable)
      : [
          ...Object.values(http.headers ?? {}).flatMap(secretsInHeader),
          ...secretsInUrl(http.url),
          http.oauth?.clientSecret ?? '',
        ].filter((value) => value.length >= minSecretLength.header);
  return (text) => {
    const all = [...secrets, ...current.secrets];
    // The longest secret is replaced first, because it may contain a shorter secret.
    const forms = [...new Set(all.flatMap(formsOf))].sort((a, b) => b.length - a.length);
    return forms.reduce((told, form) => told.replaceAll(form, placeholder), text);
  };
}

/**
 * Returns the secrets in the value of a header. For `Bearer abc`, these include the token alone. For `Basic
 * abc`, they include the decoded pair and the password.
 */
function secretsInHeader(value: string): readonly string[] {
  const [, basic] = /^basic\s+(\S+)$/i.exec(value) ?? [];
  const pair = basic === undefined ? '' : Buffer.from(basic, 'base64').toString('utf8');
  const password = pair.slice(pair.indexOf(':') + 1);
  return [value, ...value.split(/\s+/).slice(1), pair, password];
}

/** Returns the password, the values of the query, and the parts of the path that look like keys, unchanged and decoded. */
function secretsInUrl(url: string | URL): readonly string[] {
  const { password, searchParams, pathname } = new URL(url);
  const parts = pathname.split(/[/;=,]/);
  const keys = parts.filter((part, index) => isKey(decoded(part), parts[index - 1] ?? ''));
  return [...[password, ...keys].flatMap((one) => [one, decoded(one)]), ...searchParams.values()];
}

/** Matches the parts of a path after which a key follows. */
const keyName = /(?:^|[-_])(?:keys?|api-?key|tokens?|secrets?|auth|bearer|password)$/i;

/**
 * Returns true if a part of a path looks like a key: it has the form of a known key, it mixes letters and digits, or it
 * is longer than a word. A false match only makes an error less clear.
 */
function isKey(part: string, before: string): boolean {
  if (part.length >= minSecretLength.variable && keyName.test(before)) return true;
  if (looksSecret('', part)) return true;
  if (part.length >= 16 && /\d/.test(part) && /[a-z]/i.test(part)) return true;
  return part.split(/[-_.]/).some((word) => word.length >= 24);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Returns the forms in which a secret may appear: unchanged, escaped in JSON, or encoded in a URL. */
function formsOf(secret: string): readonly string[] {
  return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret.toWellFormed())];
}
