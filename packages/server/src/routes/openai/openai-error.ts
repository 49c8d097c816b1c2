import { ServerError } from '../../contract/server-error.ts';
import { errorReply } from '../../http/error-reply.ts';
import { Reply } from '../../http/route.ts';

/** Returns whether the path belongs to the OpenAI-compatible endpoints. */
export function isOpenAiPath(path: string): boolean {
  return path.startsWith('/v1/');
}

/**
 * Converts an error to a reply in OpenAI's format. A request that cannot succeed later has the header
 * `x-should-retry: false`, because OpenAI's clients repeat requests after some statuses.
 */
export function openAiErrorReply(error: ServerError): Reply {
  const { headers, status: given = 500 } = errorReply(error);
  const status = given === 422 ? 400 : given;
  const isFinal = !['rate_limited', 'unavailable', 'request_timeout'].includes(error.code);
  const retry: Record<string, string> = isFinal ? { 'x-should-retry': 'false' } : {};
  return new Reply({ error: openAiError(error) }, { status, headers: { ...headers, ...retry } });
}

/** Returns the description of an error in OpenAI's format. */
export function openAiError(error: ServerError) {
  const { message, code, details } = error;
  const param = details?.['param'];
  const reason = details?.['reason'];
  return {
    message,
    type: typeOf(error.status),
    param: typeof param === 'string' ? param : null,
    code: typeof reason === 'string' ? reason : (codes[code] ?? code),
  };
}

const codes: Readonly<Record<string, string>> = {
  unauthorized: 'invalid_api_key',
  invalid: 'invalid_value',
  rate_limited: 'rate_limit_exceeded',
};

function typeOf(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}

/** Returns the error for a model that the caller cannot use. */
export function modelNotFound(model: string): ServerError {
  const message = `The model ${JSON.stringify(model.slice(0, 128))} does not exist or you do not have access to it. GET /v1/models lists the models`;
  const details = { param: 'model', reason: 'model_not_found' };
  return new ServerError('not_found', message, {}, { details });
}

/** Returns the error for something that does not exist, or that the caller cannot read. */
export function notFound(what: string, id: string, param: string): ServerError {
  const message = `${what} with id ${JSON.stringify(id.slice(0, 256))} not found.`;
  const reason = param === 'previous_response_id' ? 'previous_response_not_found' : 'not_found';
  return new ServerError('not_found', message, {}, { details: { param, reason } });
}
