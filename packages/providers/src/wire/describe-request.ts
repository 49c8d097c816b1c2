import type { JsonObject } from '@millrace/core';
import type { DescribedRequest } from '../contract/described-request.ts';
import type { HttpRequest } from '../transport/http-request.ts';

/** A request without anything that may be a secret. */
export function describeRequest({ url, body, secrets }: HttpRequest): DescribedRequest {
  const { origin, pathname } = new URL(url);
  const hidden = secrets.filter((secret) => secret !== '');
  return {
    method: 'POST',
    url: hide(`${origin}${pathname}`, hidden),
    body: hidden.length === 0 ? body : withoutSecrets(body, hidden),
  };
}

/** Nobody should have said the key, and a page that shows requests is not to be how it gets out. */
function withoutSecrets(body: JsonObject, secrets: readonly string[]): JsonObject {
  const text = JSON.stringify(body, (_key, value: unknown) =>
    typeof value === 'string' ? hide(value, secrets) : value,
  );
  return JSON.parse(text) as JsonObject;
}

function hide(text: string, secrets: readonly string[]): string {
  return secrets.reduce((left, secret) => left.replaceAll(secret, '[key]'), text);
}
