import { pageText } from './page-text.ts';

/** The name of a service with a search API. */
export type SearchService = 'brave' | 'tavily' | 'exa';

/** The data about a search service that an application needs. */
export interface SearchServiceInfo {
  /** The host that gets the queries. Rules of a permission policy name it. */
  readonly host: string;
  /** The usual environment variable with the key of the service. */
  readonly keyVariable: string;
}

/** The search services that `webSearchTool` supports. */
export const searchServices: Readonly<Record<SearchService, SearchServiceInfo>> = {
  brave: { host: 'api.search.brave.com', keyVariable: 'BRAVE_API_KEY' },
  tavily: { host: 'api.tavily.com', keyVariable: 'TAVILY_API_KEY' },
  exa: { host: 'api.exa.ai', keyVariable: 'EXA_API_KEY' },
};

/** A page that a search found. */
export interface SearchResult {
  readonly title: string;
  readonly url: string;
  /** Text of the page that fits the query. Empty if the service sent none. */
  readonly text: string;
}

export interface SearchRequest {
  readonly url: URL;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

interface Query {
  readonly text: string;
  readonly maxResults: number;
  readonly apiKey: string;
  /** The address of the API, without a slash at its end. */
  readonly baseUrl: string;
}

interface Service {
  request(query: Query): SearchRequest;
  /** Returns the results in the body of an answer. Fields with an unexpected type are skipped. */
  results(body: unknown): readonly Fields[];
}

/** Fields of a JSON object whose types are unknown. */
type Fields = Readonly<Record<string, unknown>>;

const maxTextLength = 500;
const maxTitleLength = 200;
/** The maximum length of a text that is searched for tags. */
const maxHtmlLength = 10_000;

const services: Readonly<Record<SearchService, Service>> = {
  brave: {
    request: ({ text, maxResults, apiKey, baseUrl }) => {
      const url = new URL(`${baseUrl}/res/v1/web/search`);
      url.searchParams.set('q', text);
      url.searchParams.set('count', String(maxResults));
      return { url, method: 'GET', headers: { 'x-subscription-token': apiKey } };
    },
    results: (body) =>
      listIn(fieldsOf(fieldsOf(body)['web'])['results']).map((one) => ({
        ...one,
        text: one['description'],
      })),
  },
  tavily: {
    request: ({ text, maxResults, apiKey, baseUrl }) =>
      jsonRequest(
        `${baseUrl}/search`,
        { authorization: `Bearer ${apiKey}` },
        { query: text, max_results: maxResults },
      ),
    results: (body) =>
      listIn(fieldsOf(body)['results']).map((one) => ({ ...one, text: one['content'] })),
  },
  exa: {
    request: ({ text, maxResults, apiKey, baseUrl }) =>
      jsonRequest(
        `${baseUrl}/search`,
        { 'x-api-key': apiKey },
        { query: text, numResults: maxResults, contents: { highlights: true } },
      ),
    results: (body) =>
      listIn(fieldsOf(body)['results']).map((one) => ({
        ...one,
        text: Array.isArray(one['highlights']) ? one['highlights'].join(' … ') : undefined,
      })),
  },
};

/** Returns the request for a query. */
export function searchRequest(service: SearchService, query: Query): SearchRequest {
  return services[service].request(query);
}

/** Returns the results in an answer of a service. At most `maxResults` results with a web address are kept. */
export function searchResults(
  service: SearchService,
  body: unknown,
  maxResults: number,
): readonly SearchResult[] {
  const found = services[service].results(body).flatMap((one) => {
    const url = URL.parse(textOf(one['url']));
    if (url === null || !/^https?:$/.test(url.protocol)) return [];
    const plain = (given: unknown, length: number) =>
      shortened(plainText(textOf(given).slice(0, maxHtmlLength), url.href), length);
    const title = plain(one['title'], maxTitleLength) || url.host;
    return [{ title, url: url.href, text: plain(one['text'], maxTextLength) }];
  });
  return found.slice(0, maxResults);
}

function jsonRequest(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: object,
): SearchRequest {
  const all = { ...headers, 'content-type': 'application/json' };
  return { url: new URL(url), method: 'POST', headers: all, body: JSON.stringify(body) };
}

function plainText(html: string, url: string): string {
  return pageText(html, url).replace(/\s+/g, ' ').trim();
}

function shortened(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function listIn(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
