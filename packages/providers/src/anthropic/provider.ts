import type { Provider } from '../contract/provider.ts';
import { messagesTraits } from '../models/data/messages-traits.ts';
import { modelInfo, tableOfText } from '../models/model-info.ts';
import { anthropicCounter } from '../tokens/token-counter.ts';
import { createTransport } from '../transport/transport-options.ts';
import { withUploads } from '../uploads/with-uploads.ts';
import { assertProviderOptions, copyOptions, unlessAuthorized } from '../wire/api-options.ts';
import { serverId } from '../wire/endpoint.ts';
import { wireProvider } from '../wire/wire-provider.ts';
import { storedType } from './content.ts';
import { anthropicHost, type MessagesHost } from './host.ts';
import { type AnthropicOptions, anthropicOptionNames, traitsOf } from './options.ts';
import { anthropicRequest, filesRequest } from './request.ts';
import { AnthropicReader } from './stream.ts';
import { outputToolName } from './tools.ts';

const traits = /* @__PURE__ */ tableOfText(messagesTraits);

/**
 * Creates a provider for Claude, or for any model that a server offers through Anthropic's Messages API.
 * Default of `apiKey`: the environment variable `ANTHROPIC_API_KEY`.
 *
 * @example
 * const provider = anthropic({ model: 'claude-sonnet-4-5' });
 */
export function anthropic(options: AnthropicOptions): Provider {
  assertProviderOptions('anthropic', options, anthropicOptionNames);
  return messagesProvider(options, anthropicHost);
}

/** Creates a provider for the Messages API of Anthropic or of a cloud. */
export function messagesProvider(given: AnthropicOptions, host: MessagesHost): Provider {
  const options = copyOptions(given);
  const { frames, ownBaseUrl } = host;
  const { model } = options;
  const address = ownBaseUrl === undefined ? undefined : options.baseUrl;
  const provider = serverId(host.provider, address, ownBaseUrl);
  const info = modelInfo(traits, provider, model, options);
  const known = { ...options, id: provider, traits: traitsOf(info) };
  const authorize = unlessAuthorized(options.headers, host.authorize);
  const messages = wireProvider(
    {
      // The clouds have different endpoints for counting tokens, so only Anthropic's own API counts here.
      ...(host === anthropicHost && { tokenCounter: anthropicCounter }),
      ...{ provider, model, info, authorize, frames },
      http: (request, session) => anthropicRequest(request, known, host, session),
      reader: (context) => {
        const outputTool = outputToolName(context.request, known);
        return new AnthropicReader(context, { provider, model, outputTool });
      },
    },
    given,
  );
  return withUploads(messages, given.uploads, () => ({
    api: 'anthropic',
    ...{ provider, storedType },
    transport: createTransport(given),
    account: filesRequest(options, host),
  }));
}
