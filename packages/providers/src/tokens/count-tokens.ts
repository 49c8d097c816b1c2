import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider } from '../contract/provider.ts';
import { isObject } from '../json/fields.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import { fetchJson, type JsonTransport } from './fetch-json.ts';
import type { TokenCounter } from './token-counter.ts';

/**
 * Creates `Provider.countTokens` for a wire. After one request without a count, for example because
 * a proxy does not have the endpoint, no further request is sent.
 */
export function countTokensWith(
  counter: TokenCounter,
  http: (request: ModelRequest) => HttpRequest,
  transport: JsonTransport,
): NonNullable<Provider['countTokens']> {
  let isMissing = false;
  return async (request, { signal } = {}) => {
    if (isMissing) return undefined;
    const { url, headers, body } = http(request);
    const { accept: _stream, ...sent } = headers;
    const answer = await fetchJson(transport, {
      ...{ url: counter.url(url), headers: sent, body: counter.body(body), signal },
    });
    const count = isObject(answer) ? answer[counter.field] : undefined;
    const isCounted = typeof count === 'number' && Number.isSafeInteger(count) && count >= 0;
    if (!isCounted && !signal?.aborted) isMissing = true;
    return isCounted ? count : undefined;
  };
}
