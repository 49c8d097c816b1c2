import { ServerError, type ServerErrorCode } from '../contract/server-error.ts';

/** What the framework refuses by itself, in our words. */
const refusals: Readonly<Record<string, readonly [ServerErrorCode, string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['too_large', 'Cannot take a body of this size. Send less at once'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    'unsupported_media_type',
    'Cannot read a body of this type. Send `content-type: application/json`',
  ],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [
    'bad_request',
    'Cannot read the body: it is not as long as its content-length says',
  ],
  // Whoever sent it is not there any more; nothing failed here.
  ECONNRESET: ['bad_request', 'Cannot read the body: the connection broke before its end'],
  FST_ERR_BAD_URL: ['bad_request', 'Cannot read the path: it is not percent-encoded as it should'],
};

export function fastifyRefusal(error: unknown): ServerError | undefined {
  const { code = '', statusCode = 500 } = error as { code?: string; statusCode?: number };
  const known = refusals[code];
  if (known !== undefined) return new ServerError(...known);
  // Whatever else it holds against the request, as far as it is the request's fault.
  if (code.startsWith('FST_') && statusCode < 500)
    return new ServerError('bad_request', 'Cannot read the request. Check its head and its body');
  return undefined;
}
