import type { ModelRequest } from '../contract/model-request.ts';
import { toMessages } from '../history/to-messages.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import { checkSecret, needApiKey, streamHeaders } from '../wire/api-options.ts';
import { readBaseUrl, withQuery } from '../wire/base-url.ts';
import { mergeHeaders, readHeaders } from '../wire/merge-headers.ts';
import type { AnthropicOptions } from './anthropic-options.ts';
import { askedFields } from './asked-fields.ts';
import { betasFor } from './betas.ts';
import { containerOf } from './container.ts';
import { conversationOf } from './messages.ts';

export const providerId = 'anthropic';

const defaultBaseUrl = 'https://api.anthropic.com';
const defaultVersion = '2023-06-01';
const keyVariables = ['ANTHROPIC_API_KEY'];
const toolCallIds = { form: /^[A-Za-z0-9_-]{1,64}$/, length: 24 };

export function anthropicRequest(request: ModelRequest, options: AnthropicOptions): HttpRequest {
  const { model, betas = [] } = options;
  const { base, query } = readBaseUrl(options.baseUrl ?? defaultBaseUrl);
  const messages = toMessages(request, { provider: providerId, model, ids: toolCallIds });
  const { system, turns } = conversationOf(messages, request.cache);
  const container = containerOf(messages);
  const headers = headersFor(options, betasFor(betas, turns));
  return {
    url: withQuery(`${base.replace(/\/v1$/, '')}/v1/messages`, query),
    headers,
    body: {
      model,
      ...askedFields(request, options, turns),
      ...(system.length === 0 ? {} : { system }),
      messages: turns.map(({ role, content }) => ({ role, content })),
      stream: true,
      ...(container === undefined ? {} : { container }),
      ...request.providerOptions,
    },
    secrets: [headers['x-api-key'], headers['authorization'], options.authToken].flatMap(
      (secret) => secret ?? [],
    ),
  };
}

type Headers = Readonly<Record<string, string>>;

function headersFor(options: AnthropicOptions, betas: readonly string[]): Headers {
  const given = readHeaders(options.headers);
  const isKeyGiven = 'x-api-key' in given || 'authorization' in given;
  return mergeHeaders(
    streamHeaders,
    { 'anthropic-version': options.version ?? defaultVersion },
    betas.length === 0 ? {} : { 'anthropic-beta': betas.join(',') },
    isKeyGiven ? {} : keyHeader(options),
    given,
  );
}

function keyHeader({ apiKey, authToken }: AnthropicOptions): Headers {
  const token = checkSecret('authToken', authToken);
  if (token !== undefined) return { authorization: `Bearer ${token}` };
  return { 'x-api-key': needApiKey(apiKey, keyVariables) };
}
