import type { ModelRequest } from '../contract/model-request.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import type { Resumption, Wire } from '../wire/wire.ts';

/** How a response that runs in the background is read on, and how it is stopped. */
export function backgroundOf(
  build: (request: ModelRequest) => HttpRequest,
): Pick<Wire, 'resume' | 'cancel'> {
  const at = (request: ModelRequest, path: string): HttpRequest => {
    const { url, headers, secrets } = build(request);
    const [place, query] = url.split('?');
    const parameters = [path.split('?')[1], query].filter(Boolean).join('&');
    const target = `${place}/${path.split('?')[0]}${parameters === '' ? '' : `?${parameters}`}`;
    return { url: target, headers, secrets, body: {} };
  };
  return {
    resume: (request, { responseId, sequence }: Resumption) => ({
      ...at(request, `${encodeURIComponent(responseId)}?stream=true&starting_after=${sequence}`),
      method: 'GET',
    }),
    cancel: (request, { responseId }) => at(request, `${encodeURIComponent(responseId)}/cancel`),
  };
}
