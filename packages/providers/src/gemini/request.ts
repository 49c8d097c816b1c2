import type { JsonObject } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import { toMessages } from '../history/to-messages.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import { streamHeaders } from '../wire/api-options.ts';
import { withQuery } from '../wire/base-url.ts';
import { mergeHeaders, readHeaders } from '../wire/merge-headers.ts';
import { contentFields } from './contents.ts';
import type { Endpoint } from './endpoint.ts';
import { generationConfig } from './generation-config.ts';
import { toolFields } from './tools.ts';

export function geminiRequest(request: ModelRequest, endpoint: Endpoint): HttpRequest {
  const { keyHeader } = endpoint;
  const given = readHeaders(endpoint.headers);
  const key = keyHeader in given ? undefined : endpoint.key();
  return {
    url: withQuery(`${endpoint.url()}:streamGenerateContent?alt=sse`, endpoint.query),
    headers: mergeHeaders(streamHeaders, { [keyHeader]: key?.shown }, given),
    body: bodyOf(request, endpoint),
    secrets: key === undefined ? [] : [key.secret],
  };
}

function bodyOf(request: ModelRequest, endpoint: Endpoint): JsonObject {
  const { model, streamsArguments } = endpoint;
  const config = generationConfig(model, request);
  return {
    ...contentFields(toMessages(request, endpoint), endpoint),
    ...toolFields(request, streamsArguments),
    ...(config === undefined ? {} : { generationConfig: config }),
    ...request.providerOptions,
  };
}
