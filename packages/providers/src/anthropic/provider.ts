import type { Provider } from '../contract/provider.ts';
import { anthropicCounter } from '../tokens/token-counter.ts';
import { copyOptions } from '../wire/api-options.ts';
import type { Wire } from '../wire/wire.ts';
import { wireProvider } from '../wire/wire-provider.ts';
import type { AnthropicOptions } from './options.ts';
import { anthropicRequest, providerId } from './request.ts';
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
  const { model } = options;
  return {
    provider: providerId,
    model,
    http: (request) => anthropicRequest(request, options),
    tokenCounter: anthropicCounter,
    reader: (context) =>
      new AnthropicReader(context, {
        provider: providerId,
        model,
        outputTool: outputToolName(context.request, options),
      }),
  };
}
