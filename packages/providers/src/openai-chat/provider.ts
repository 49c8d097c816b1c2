import type { Provider } from '../contract/provider.ts';
import { copyOptions } from '../wire/api-options.ts';
import { dialectOf, infoAt } from '../wire/endpoint.ts';
import { wireProvider } from '../wire/wire-provider.ts';
import type { ChatOptions } from './options.ts';
import { dialectForModel, presets } from './presets.ts';
import { chatRequest } from './request.ts';
import { ChatReader } from './stream.ts';

/**
 * Creates a provider for a model behind the Chat Completions API of OpenAI or a compatible server.
 *
 * @example
 * const provider = openaiChat({ preset: 'ollama', model: 'qwen3' });
 * const { text } = await provider.complete({ items });
 */
export function openaiChat(given: ChatOptions): Provider {
  const options = copyOptions(given);
  const preset = dialectOf(presets, options);
  const info = infoAt(preset, options);
  const dialect = dialectForModel(preset, options.dialect, info);
  const owner = { provider: dialect.id, model: options.model };
  return wireProvider(
    {
      ...owner,
      info,
      http: (request) => chatRequest(request, options, dialect, info),
      reader: (context) => new ChatReader(context, owner),
    },
    given,
  );
}
