import type { Provider } from '../contract/provider.ts';
import { modelInfo } from '../models/known-traits.ts';
import { copyOptions } from '../wire/api-options.ts';
import { serverId } from '../wire/endpoint.ts';
import type { Wire } from '../wire/wire.ts';
import { wireProvider } from '../wire/wire-provider.ts';
import { type AnthropicOptions, traitsOf } from './options.ts';
import { anthropicRequest, defaultBaseUrl, providerId } from './request.ts';
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
  return wireProvider(anthropicWire(copyOptions(options)), options);
}

function anthropicWire(options: AnthropicOptions): Wire {
  const { model, baseUrl } = options;
  const id = serverId(providerId, baseUrl, defaultBaseUrl);
  const info = modelInfo(id, model, options);
  const known = { ...options, id, traits: traitsOf(info) };
  return {
    provider: id,
    model,
    info,
    http: (request) => anthropicRequest(request, known),
    reader: (context) =>
      new AnthropicReader(context, {
        provider: id,
        model,
        outputTool: outputToolName(context.request, known),
      }),
  };
}
