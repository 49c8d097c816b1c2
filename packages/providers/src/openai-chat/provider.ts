import type { Provider } from '../contract/provider.ts';
import { wrapProvider } from '../provider/wrap-provider.ts';
import { chatCounters } from '../tokens/token-counter.ts';
import { createTransport } from '../transport/transport-options.ts';
import { withUploads } from '../uploads/with-uploads.ts';
import {
  apiOptionNames,
  assertProviderOptions,
  copyOptions,
  findApiKey,
} from '../wire/api-options.ts';
import { dialectOf, filesRequestTo, infoAt } from '../wire/endpoint.ts';
import type { Wire } from '../wire/wire.ts';
import { wireProvider } from '../wire/wire-provider.ts';
import { takesFile } from './content.ts';
import type { ChatDialect, ChatOptions } from './options.ts';
import { dialectForModel, presets } from './presets.ts';
import { chatRequest } from './request.ts';
import { ChatReader } from './stream.ts';

/**
 * Creates a provider for the Chat Completions API of OpenAI or of a compatible server.
 *
 * @example
 * const provider = openaiChat({ preset: 'ollama', model: 'qwen3' });
 * const { text } = await provider.complete({ items });
 */
export function openaiChat(given: ChatOptions): Provider {
  const own = { preset: true, dialect: true, uploads: true, extraTools: true } as const;
  assertProviderOptions('openaiChat', given, { ...apiOptionNames, ...own });
  const options = copyOptions(given);
  const preset = dialectOf(presets, options);
  const info = infoAt(preset, options);
  const dialect = dialectForModel(preset, options.dialect, info);
  const owner = { provider: dialect.id, model: options.model };
  const { countsTokens, cutsRequests = false } = dialect;
  const provider = wireProvider(
    {
      ...owner,
      info,
      http: (request) => chatRequest(request, options, dialect, info),
      reader: (context) => new ChatReader(context, owner),
      windowSource: windowSource(options, dialect),
      ...(countsTokens && { tokenCounter: chatCounters[countsTokens] }),
    },
    given,
  );
  const uploading = withUploads(provider, given.uploads, () => ({
    api: 'openai',
    provider: dialect.id,
    transport: createTransport(given),
    account: filesRequestTo(dialect, options),
    storedType: (type) => (takesFile(type, dialect) ? type : undefined),
  }));
  return cutsRequests ? limitedOnDemand(uploading) : uploading;
}

/**
 * Wraps a provider so that it rejects requests that are too long. The code for this check loads on demand,
 * because few servers truncate requests. If the code cannot be loaded, the request is sent without the check.
 */
function limitedOnDemand(provider: Provider): Provider {
  let loading: Promise<Provider> | undefined;
  const limited = () => {
    loading ??= import('../tokens/limit-context.ts').then(
      ({ limitContext }) => limitContext(provider, { advice: ollamaAdvice }),
      () => {
        loading = undefined;
        return provider;
      },
    );
    return loading;
  };
  const { stream, complete } = wrapProvider(provider, async function* (request, context) {
    yield* (await limited()).stream(request, context);
  });
  return { ...provider, stream, complete };
}

const ollamaAdvice =
  'For a larger context, start Ollama with OLLAMA_CONTEXT_LENGTH=32768, or set num_ctx in a Modelfile';

function windowSource(
  { baseUrl, apiKey }: ChatOptions,
  { windowServer: server, baseUrl: usual, keyVariables }: ChatDialect,
): Wire['windowSource'] {
  const address = baseUrl ?? usual;
  if (server === undefined || address === undefined) return undefined;
  // The key is read for each request, and not here, because an invalid key must not throw here.
  return () => ({ server, baseUrl: address, apiKey: findApiKey(apiKey, keyVariables) });
}
