import type { ModelRequest } from '../contract/model-request.ts';
import { toMessages } from '../history/to-messages.ts';
import { needApiKey, streamHeaders, withoutTrailingSlash } from '../wire/api-options.ts';
import type { HttpRequest } from '../wire/wire.ts';
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
  const { model, baseUrl = defaultBaseUrl, betas = [] } = options;
  const messages = toMessages(request, { provider: providerId, model, ids: toolCallIds });
  const { system, turns } = conversationOf(messages, request.cache);
  const container = containerOf(messages);
  const headers = headersFor(options, betasFor(betas, turns));
  return {
    url: `${withoutTrailingSlash(baseUrl).replace(/\/v1$/, '')}/v1/messages`,
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
  const entries = Object.entries(options.headers ?? {});
  // In one case, so that none is sent twice.
  const given = Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), value]));
  return {
    ...streamHeaders,
    'anthropic-version': options.version ?? defaultVersion,
    ...(betas.length === 0 ? {} : { 'anthropic-beta': betas.join(',') }),
    ...('x-api-key' in given || 'authorization' in given ? {} : keyHeader(options)),
    ...given,
  };
}

function keyHeader({ apiKey, authToken }: AnthropicOptions): Headers {
  if (authToken !== undefined) return { authorization: `Bearer ${authToken}` };
  return { 'x-api-key': needApiKey(apiKey, keyVariables) };
}
