import type { Provider } from '../contract/provider.ts';
import { anthropicCounter } from '../tokens/token-counter.ts';
import { createTransport } from '../transport/transport-options.ts';
import { anthropicFileApi } from '../uploads/file-apis.ts';
import { withUploads } from '../uploads/with-uploads.ts';
import { copyOptions, unlessAuthorized } from '../wire/api-options.ts';
import { wireProvider } from '../wire/wire-provider.ts';
import { storedType } from './content.ts';
import { anthropicHost, type MessagesHost } from './host.ts';
import type { AnthropicOptions } from './options.ts';
import { anthropicRequest, filesRequest } from './request.ts';
import { AnthropicReader } from './stream.ts';
import { outputToolName } from './tools.ts';

/**
 * Creates a provider for Claude, or for another model behind Anthropic's Messages API. Default of
 * `apiKey`: the environment variable `ANTHROPIC_API_KEY`.
 *
 * @example
 * const provider = anthropic({ model: 'claude-sonnet-4-5' });
 */
export function anthropic(options: AnthropicOptions): Provider {
  return messagesProvider(options, anthropicHost);
}

/** Creates a provider for the Messages API of Anthropic or of a cloud. */
export function messagesProvider(given: AnthropicOptions, host: MessagesHost): Provider {
  const options = copyOptions(given);
  const { provider, framing } = host;
  const { model } = options;
  const authorize = unlessAuthorized(options.headers, host.authorize);
  const messages = wireProvider(
    {
      ...{ provider, model, authorize, framing },
      http: (request) => anthropicRequest(request, options, host),
      // The clouds have other endpoints for this.
      ...(host === anthropicHost && { tokenCounter: anthropicCounter }),
      reader: (context) => {
        const outputTool = outputToolName(context.request, options);
        return new AnthropicReader(context, { provider, model, outputTool });
      },
    },
    given,
  );
  return withUploads(messages, given.uploads, () =>
    anthropicFileApi({
      ...{ provider, storedType },
      transport: createTransport(given),
      account: filesRequest(options, host),
    }),
  );
}
