import type { JsonObject } from '@millrace/core';
import type { ModelRequest } from '../contract/model-request.ts';
import { toMessages } from '../history/to-messages.ts';
import { streamHeaders } from '../wire/api-options.ts';
import type { HttpRequest } from '../wire/wire.ts';
import { contentFields } from './contents.ts';
import type { Endpoint } from './endpoint.ts';
import { generationConfig } from './generation-config.ts';
import { toolFields } from './tools.ts';

export function geminiRequest(request: ModelRequest, endpoint: Endpoint): HttpRequest {
  const { secret, header } = endpoint.key();
  return {
    url: `${endpoint.url}:streamGenerateContent?alt=sse`,
    headers: { ...streamHeaders, ...header, ...endpoint.headers },
    body: bodyOf(request, endpoint),
    secrets: [secret],
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
