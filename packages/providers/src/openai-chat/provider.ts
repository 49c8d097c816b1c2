import type { Provider } from '../contract/provider.ts';
import { createTransport } from '../transport/transport-options.ts';
import { openaiFileApi } from '../uploads/file-apis.ts';
import { withUploads } from '../uploads/with-uploads.ts';
import { copyOptions } from '../wire/api-options.ts';
import { dialectOf, filesRequestTo } from '../wire/endpoint.ts';
import { wireProvider } from '../wire/wire-provider.ts';
import { takesFile } from './content.ts';
import type { ChatOptions } from './options.ts';
import { presets } from './presets.ts';
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
  const dialect = dialectOf(presets, options);
  const owner = { provider: dialect.id, model: options.model };
  const provider = wireProvider(
    {
      ...owner,
      http: (request) => chatRequest(request, options, dialect),
      reader: (context) => new ChatReader(context, owner),
    },
    given,
  );
  return withUploads(provider, given.uploads, () =>
    openaiFileApi({
      provider: dialect.id,
      transport: createTransport(given),
      account: filesRequestTo(dialect, options),
      storedType: (type) => (takesFile(type, dialect) ? type : undefined),
    }),
  );
}
