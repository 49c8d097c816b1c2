import { SdkHttpError } from '@modelcontextprotocol/client';
import type { McpServer } from '../../contract/mcp-server.ts';

/** At most so many characters, with a mark where there were more. */
export function clip(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text.toWellFormed();
  return `${text.slice(0, Math.max(0, maxLength - 1)).toWellFormed()}…`;
}

/** An error in words, with those of its causes that say more. Not redacted, not clipped. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (SdkHttpError.isInstance(error)) return explainHttp(error);
  // `fetch failed` is all that fetch itself says.
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

/** Several addresses that were tried make one error without a message. */
function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : error.name;
}

/** Puts a mark where a text has a secret in it. */
export type Redact = (text: string) => string;

const placeholder = '[secret]';
// Shorter ones are words, as `true` is, and errors without them could not be read.
const minSecretLength = { header: 4, variable: 8 };

/** For what is told of a server: no value of its headers, its address's query or its environment is in it. */
export function createRedactor({ http, stdio }: McpServer): Redact {
  const secrets =
    http === undefined
      ? Object.values(stdio.env ?? {}).filter((value) => value.length >= minSecretLength.variable)
      : [
          ...Object.values(http.headers ?? {}).flatMap(secretsInHeader),
          ...queryOf(http.url),
        ].filter((value) => value.length >= minSecretLength.header);
  // The longest first: one may be part of another.
  const forms = [...new Set(secrets.flatMap(formsOf))].sort((a, b) => b.length - a.length);
  return (text) => forms.reduce((told, form) => told.replaceAll(form, placeholder), text);
}

/** `Bearer abc` is a secret, and `abc` alone is as well; of `Basic abc`, what that stands for too. */
function secretsInHeader(value: string): readonly string[] {
  const [, basic] = /^basic\s+(\S+)$/i.exec(value) ?? [];
  const pair = basic === undefined ? '' : Buffer.from(basic, 'base64').toString('utf8');
  const password = pair.slice(pair.indexOf(':') + 1);
  return [value, ...value.split(/\s+/).slice(1), pair, password];
}

function queryOf(url: string | URL): readonly string[] {
  return [...new URL(url).searchParams.values()];
}

/** As it is, as it is in JSON, and as it is in an address. */
function formsOf(secret: string): readonly string[] {
  return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret.toWellFormed())];
}
