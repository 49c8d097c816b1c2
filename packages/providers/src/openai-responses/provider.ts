import type { Provider } from '../contract/provider.ts';
import { textIn } from '../json/fields.ts';
import { copyOptions } from '../wire/api-options.ts';
import { dialectOf, infoAt } from '../wire/endpoint.ts';
import { wireProvider } from '../wire/wire-provider.ts';
import type { ResponsesOptions } from './options.ts';
import { presets } from './presets.ts';
import { responsesRequest } from './request.ts';
import { ResponsesReader } from './stream.ts';

/**
 * Creates a provider for a model behind the Responses API of OpenAI or a compatible server.
 *
 * @example
 * const provider = openaiResponses({ model: 'gpt-5.1' });
 * const { text } = await provider.complete({ items, reasoning: 'low' });
 */
export function openaiResponses(given: ResponsesOptions): Provider {
  const options = copyOptions(given);
  const dialect = dialectOf(presets, options);
  const info = infoAt(dialect, options);
  const owner = { provider: dialect.id, model: options.model };
  const extraNames = (options.extraTools ?? []).flatMap((tool) => textIn(tool, 'name') ?? []);
  return wireProvider(
    {
      ...owner,
      info,
      http: (request) => responsesRequest(request, options, dialect, info),
      reader: (context) => new ResponsesReader(context, owner, extraNames),
    },
    given,
  );
}
