import { minSecretLength } from '../errors/redact.ts';
import type { HttpRequest } from '../transport/http-request.ts';

const secretNames = /auth|key|token|secret|cookie|password|signature/i;

/** What must never be shown of a request: its key, and what callers put into headers and the address. */
export function secretsOf({ secrets, headers, url }: HttpRequest): readonly string[] {
  const sent = Object.entries(headers).flatMap(([name, value]) =>
    secretNames.test(name) ? [value, ...value.split(/\s+/).slice(1)] : [],
  );
  const found = [...sent, ...secretsIn(url)].filter(({ length }) => length >= minSecretLength);
  return [...secrets, ...found];
}

function secretsIn(url: string): readonly string[] {
  if (!URL.canParse(url)) return [];
  const { password, searchParams } = new URL(url);
  const queried = [...searchParams].flatMap(([name, value]) =>
    secretNames.test(name) ? value : [],
  );
  return [...(password === '' ? [] : [password, decoded(password)]), ...queried];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
