import { AgentError, type DefinedTool, defineTool } from '@millrace/agent';
import { parseJson } from '@millrace/core';
import { z } from 'zod';
import { assertKnownOptions } from '../known-options.ts';
import { type FetchedPage, fetchPage } from './fetch-page.ts';
import { anyLookup, publicLookup, systemResolver } from './public-address.ts';
import {
  type SearchRequest,
  type SearchResult,
  type SearchService,
  searchRequest,
  searchResults,
  searchServices,
} from './search-services.ts';

/** Options of `webSearchTool`. */
export interface WebSearchToolOptions {
  /** The service that gets the queries. */
  readonly service: SearchService;
  /** The key of the service. The tool sends it only to the service, and never shows it. */
  readonly apiKey: string;
  /** The address of the API, for a proxy. It may be on a private network. Default: the service's address. */
  readonly baseUrl?: string | undefined;
  /** Maximum number of results. Default: 8. */
  readonly maxResults?: number | undefined;
  /** Maximum duration of a call. Default: 30 s. */
  readonly timeoutMs?: number | undefined;
}

/** The input of the tool `web_search`. */
export interface WebSearchInput {
  readonly query: string;
}

/** The services reject longer queries. */
const maxQueryLength = 400;
const maxBytes = 2_000_000;
const input = z.object({
  query: z
    .string()
    .refine((text) => text.trim() !== '', 'it is empty')
    .refine(
      (text) => text.length <= maxQueryLength,
      `it has more than ${maxQueryLength} characters`,
    ),
});

/**
 * Creates the tool `web_search`, which returns titles, addresses and excerpts of web pages. It sends the query
 * to a search service. A permission policy asks before the first query, because a query could contain secrets.
 * To let rules allow the host of the service, set `kinds` of the policy.
 *
 * @example
 * const search = webSearchTool({ service: 'brave', apiKey });
 * permissionPolicy({ root, kinds: { web_search: `fetch:${searchServices.brave.host}` } });
 */
export function webSearchTool(
  options: WebSearchToolOptions,
): DefinedTool<'web_search', WebSearchInput> {
  assertKnownOptions('webSearchTool', options, {
    ...{ service: true, apiKey: true, baseUrl: true, maxResults: true, timeoutMs: true },
  });
  const { service, apiKey, maxResults = 8, timeoutMs = 30_000 } = options;
  if (!Object.hasOwn(searchServices, service))
    throw optionError('service', `must be one of ${Object.keys(searchServices).join(', ')}`);
  if (apiKey === '') throw optionError('apiKey', 'is empty');
  const { host } = searchServices[service];
  const baseUrl = (options.baseUrl ?? `https://${host}`).replace(/\/+$/, '');
  const isOwnAddress = options.baseUrl !== undefined;
  return defineTool({
    name: 'web_search',
    description: 'Searches the web. Returns titles, URLs and excerpts.',
    input,
    afterCrash: 'repeat',
    timeoutMs,
    summarize: ({ query }) => `Search the web for ${JSON.stringify(query)}`,
    execute: async ({ query }, { signal }) => {
      const request = searchRequest(service, { text: query, maxResults, apiKey, baseUrl });
      const page = await fetchPage(request.url, {
        request: { ...request, agent: 'web_search' },
        ...{ maxBytes, maxRedirects: 0, signal, publicOnly: !isOwnAddress },
        lookup: isOwnAddress ? anyLookup(systemResolver) : publicLookup(systemResolver),
      }).catch((error: unknown) => {
        if (signal.aborted) throw signal.reason;
        throw searchError(request, reasonOf(error));
      });
      const results = resultsOf(service, request, page, maxResults);
      return {
        output: {
          text: describeResults(query, results),
          value: { results: results.map((one) => ({ ...one })) },
        },
      };
    },
  });
}

function resultsOf(
  service: SearchService,
  request: SearchRequest,
  page: FetchedPage,
  maxResults: number,
): readonly SearchResult[] {
  if (page.type !== 'page') throw searchError(request, 'its answer is not JSON');
  const problem = statusProblem(page.status, service);
  if (problem !== undefined) throw searchError(request, problem);
  if (page.isCut) throw searchError(request, `its answer has more than ${maxBytes} bytes`);
  const body = parseJson(page.text);
  if (!body.ok) throw searchError(request, 'its answer is not JSON');
  return searchResults(service, body.value, maxResults);
}

/** The error must not repeat the answer of the service, because the answer may contain the key. */
function statusProblem(status: number, service: SearchService): string | undefined {
  if (status < 300) return undefined;
  if (status === 401 || status === 403)
    return `it rejects the key (status ${status}). Check ${searchServices[service].keyVariable}`;
  if (status === 429) return 'it has received too many queries (status 429). Search later';
  return `it answers with status ${status}`;
}

function describeResults(query: string, results: readonly SearchResult[]): string {
  if (results.length === 0) return `No results for ${JSON.stringify(query)}`;
  return results
    .map(({ title, url, text }, at) =>
      [`${at + 1}. ${title}`, `   ${url}`, ...(text === '' ? [] : [`   ${text}`])].join('\n'),
    )
    .join('\n');
}

function searchError({ url: { host } }: SearchRequest, why: string): Error {
  return new Error(`Cannot search with ${host}: ${why}`);
}

function reasonOf(error: unknown): string {
  const { code, message } = error as { readonly code?: string; readonly message?: string };
  return message || code || 'the connection failed';
}

function optionError(name: string, why: string): AgentError {
  return new AgentError('bad_option', `Cannot create web_search: ${name} ${why}`);
}
