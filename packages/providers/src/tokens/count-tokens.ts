import { isJsonObject } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider } from '../contract/provider.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import { fetchAnswer, type JsonTransport } from './fetch-json.ts';
import type { TokenCounter } from './token-counter.ts';

/**
 * Creates `Provider.countTokens`. If the server reports that it does not have the endpoint, for example
 * because it is a proxy, no further request is sent. After a temporary failure, the next call sends a request
 * again.
 */
export function countTokensWith(
  counter: TokenCounter,
  http: (request: ModelRequest, session: string | undefined) => HttpRequest,
  transport: JsonTransport,
): NonNullable<Provider['countTokens']> {
  let isMissing = false;
  return async (request, { signal, session } = {}) => {
    if (isMissing) return undefined;
    const { url, headers, body } = http(request, session);
    const { accept: _stream, ...sent } = headers;
    const answer = await fetchAnswer(transport, {
      ...{ url: counter.url(url), headers: sent, body: counter.body(body), signal },
    });
    const count = isJsonObject(answer?.value) ? answer.value[counter.field] : undefined;
    if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) return count;
    if (answer !== undefined && saysEndpointMissing(answer.status)) isMissing = true;
    return undefined;
  };
}

/** Returns whether an answer with this status shows that the server does not have the endpoint. */
function saysEndpointMissing(status: number): boolean {
  const isSuccess = status >= 200 && status < 300;
  return isSuccess || status === 404 || status === 405 || status === 501;
}
