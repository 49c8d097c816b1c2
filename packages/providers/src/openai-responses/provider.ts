import type { ModelRequest } from '../contract/model-request.ts';
import type { Provider } from '../contract/provider.ts';
import { providerOf } from '../provider/create-provider.ts';
import { responsesCounter } from '../tokens/token-counter.ts';
import { createTransport } from '../transport/transport-options.ts';
import { withUploads } from '../uploads/with-uploads.ts';
import { apiOptionNames, assertProviderOptions, copyOptions } from '../wire/api-options.ts';
import { dialectOf, filesRequestTo, httpRequestTo, infoAt } from '../wire/endpoint.ts';
import { wireProvider } from '../wire/wire-provider.ts';
import { backgroundOf } from './background.ts';
import { takesFile } from './content.ts';
import { ContinuedRequests } from './continued-requests.ts';
import type { ResponsesOptions } from './options.ts';
import { presets } from './presets.ts';
import { responsesRequest } from './request.ts';
import { ResponsesReader } from './stream.ts';

/**
 * Creates a provider for the Responses API of OpenAI or of a compatible server.
 *
 * @example
 * const provider = openaiResponses({ model: 'gpt-5.1' });
 * const { text } = await provider.complete({ items, reasoning: 'low' });
 */
export function openaiResponses(given: ResponsesOptions): Provider {
  assertProviderOptions('openaiResponses', given, {
    ...{ ...apiOptionNames, preset: true, dialect: true, store: true, sendsOnlyNew: true },
    ...{ background: true, reasoningSummary: true, encryptedReasoning: true },
    ...{ parallelToolCalls: true, extraTools: true, uploads: true },
  });
  const options = copyOptions(given);
  const dialect = dialectOf(presets, options);
  const info = infoAt(dialect, options);
  const owner = { provider: dialect.id, model: options.model };
  const { runsCustomCalls, reportsCut } = dialect;
  const { extraTools = [] } = options;
  const build = (request: ModelRequest, session: string | undefined) =>
    responsesRequest(request, options, dialect, { info, session });
  const stored = options.sendsOnlyNew ? new ContinuedRequests(build) : undefined;
  const provider = wireProvider(
    {
      ...owner,
      info,
      http: (request, session) => stored?.http(request, session) ?? build(request, session),
      ...(dialect.countsTokens && { tokenCounter: responsesCounter }),
      reader: (context) =>
        new ResponsesReader(context, owner, {
          extraTools,
          runsCustomCalls,
          reportsCut,
          onWhole: (response) => stored?.remember(context.request, response),
        }),
      ...(options.background && backgroundOf(() => httpRequestTo(dialect, options, {}))),
    },
    given,
  );
  return withUploads(continued(provider, stored), given.uploads, () => ({
    api: 'openai',
    provider: dialect.id,
    transport: createTransport(given),
    account: filesRequestTo(dialect, options),
    storedType: (type) => (takesFile(type) ? type : undefined),
  }));
}

/**
 * Wraps a provider. If the server has lost a stored response, the wrapper sends the request again with the
 * whole history.
 */
function continued(provider: Provider, stored: ContinuedRequests | undefined): Provider {
  if (stored === undefined) return provider;
  const { id, model, stream } = provider;
  const again = providerOf(id, model, (request, context) =>
    stored.streamAgainIfLost(stream, request, context),
  );
  return { ...provider, ...again };
}
