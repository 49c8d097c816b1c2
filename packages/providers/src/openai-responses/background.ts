import type { HttpRequest } from '../transport/http-request.ts';
import { withQuery } from '../wire/base-url.ts';
import type { Wire } from '../wire/wire.ts';

/**
 * Returns two functions: one continues to read a background response, and one stops it. `endpoint` creates a
 * request to the URL of all responses, with the key.
 */
export function backgroundOf(endpoint: () => HttpRequest): Pick<Wire, 'resume' | 'cancel'> {
  const at = (path: string): HttpRequest => {
    const http = endpoint();
    const [place, query = ''] = http.url.split('?');
    return { ...http, url: withQuery(`${place}/${path}`, query) };
  };
  return {
    resume: ({ responseId, sequence }) => ({
      ...at(`${encodeURIComponent(responseId)}?stream=true&starting_after=${sequence}`),
      method: 'GET',
    }),
    cancel: ({ responseId }) => at(`${encodeURIComponent(responseId)}/cancel`),
  };
}
