import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { permissionPolicy } from '../permissions/permission-policy.ts';
import { runTool } from '../testing/tool-context.ts';
import { type SearchService, searchServices } from './search-services.ts';
import { webSearchTool } from './web-search-tool.ts';

interface Answer {
  readonly status?: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Received {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Starts a search service on this machine that always gives the same answer, and keeps all requests. */
async function serve({ status = 200, body, headers = {} }: Answer) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const { method, url, headers: sent } = request;
    received.push({ method, url, headers: sent, body: await text(request) });
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

const apiKey = 'secret-key-1';
const search = (service: SearchService, baseUrl: string | undefined, query = 'weather & Rome') =>
  runTool(webSearchTool({ service, apiKey, baseUrl, maxResults: 3 }), { query });

const page = { title: 'Weather in Rome', url: 'https://weather.example/rome' };
const answers: Readonly<Record<SearchService, unknown>> = {
  brave: {
    web: { results: [{ ...page, description: 'It is <strong>sunny</strong> &amp; warm.' }] },
  },
  tavily: { results: [{ ...page, content: 'It is sunny & warm.', score: 0.9 }] },
  exa: { results: [{ ...page, highlights: ['It is sunny', '& warm.'], publishedDate: null }] },
};

describe('23.5: web_search', () => {
  test.each(['brave', 'tavily', 'exa'] as const)('finds pages with %s', async (service) => {
    const { baseUrl, received } = await serve({ body: answers[service] });
    const { text: shown, value, isError } = await search(service, baseUrl);
    expect(isError).toBe(false);
    const excerpt = service === 'exa' ? 'It is sunny … & warm.' : 'It is sunny & warm.';
    expect(shown).toBe(`1. Weather in Rome\n   https://weather.example/rome\n   ${excerpt}`);
    expect(value).toEqual({ results: [{ ...page, text: excerpt }] });
    expect(received).toHaveLength(1);
  });

  test('sends each service the request that its API documents', async () => {
    const sent: Record<string, Received | undefined> = {};
    for (const service of ['brave', 'tavily', 'exa'] as const) {
      const { baseUrl, received } = await serve({ body: answers[service] });
      await search(service, baseUrl);
      sent[service] = received[0];
    }
    const { brave, tavily, exa } = sent;
    expect(brave).toMatchObject({ method: 'GET', body: '' });
    expect(brave?.url).toBe('/res/v1/web/search?q=weather+%26+Rome&count=3');
    expect(brave?.headers).toMatchObject({
      ...{ 'x-subscription-token': apiKey, accept: 'application/json' },
    });
    expect(tavily).toMatchObject({ method: 'POST', url: '/search' });
    expect(tavily?.headers).toMatchObject({
      ...{ authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    });
    expect(JSON.parse(tavily?.body ?? '')).toEqual({ query: 'weather & Rome', max_results: 3 });
    expect(exa).toMatchObject({ method: 'POST', url: '/search' });
    expect(exa?.headers['x-api-key']).toBe(apiKey);
    expect(JSON.parse(exa?.body ?? '')).toEqual({
      ...{ query: 'weather & Rome', numResults: 3, contents: { highlights: true } },
    });
  });

  test('says that there are no results', async () => {
    const { baseUrl } = await serve({ body: { query: {} } });
    expect((await search('brave', baseUrl)).text).toBe('No results for "weather & Rome"');
  });

  test.each([
    [401, 'rejects the key (status 401). Check EXA_API_KEY'],
    [429, 'too many queries (status 429)'],
    [500, 'answers with status 500'],
  ])('attack: an answer with status %d does not show the key', async (status, message) => {
    const { baseUrl } = await serve({ status, body: { error: `bad key ${apiKey}` } });
    const { text: shown, isError } = await search('exa', baseUrl);
    expect(isError).toBe(true);
    expect(shown).toContain(message);
    expect(shown).not.toContain(apiKey);
  });

  test('attack: a redirect does not get the key', async () => {
    const target = await serve({ body: answers.exa });
    const headers = { location: `${target.baseUrl}/search` };
    const { baseUrl } = await serve({ status: 307, body: '', headers });
    expect((await search('exa', baseUrl)).isError).toBe(true);
    expect(target.received).toEqual([]);
  });

  test('attack: an answer with wrong types, other addresses or very long texts is bounded', async () => {
    const results = [
      null,
      { title: 'Code', url: 'javascript:alert(1)', content: 'x' },
      { title: 7, url: 'https://a.example/', content: ['y'] },
      ...Array.from({ length: 9 }, () => ({ ...page, content: 'z'.repeat(100_000) })),
    ];
    const { baseUrl } = await serve({ body: { results } });
    const { text: shown } = await search('tavily', baseUrl);
    expect(shown).toContain('1. a.example\n   https://a.example/\n2. ');
    expect(shown).not.toContain('javascript');
    expect(shown).not.toContain('4. ');
    expect(shown.length).toBeLessThan(2000);
    const broken = await serve({ body: '{"results": [' });
    expect((await search('tavily', broken.baseUrl)).text).toContain('is not JSON');
  });

  test.each(['', '  ', 'x'.repeat(401)])('refuses the query %j', async (query) => {
    expect((await search('brave', 'http://127.0.0.1:1', query)).isError).toBe(true);
  });

  test('refuses options that cannot work', () => {
    expect(() => webSearchTool({ service: 'brave', apiKey: '' })).toThrow('apiKey is empty');
    const service = 'toString' as SearchService;
    expect(() => webSearchTool({ service, apiKey })).toThrow('must be one of brave, tavily, exa');
  });
});

describe('23.5: the policy decides on web_search as on web_fetch', () => {
  const { host } = searchServices.brave;
  const kinds = { web_search: `fetch:${host}` } as const;
  const call = { tool: 'web_search', input: { query: 'x' } };
  const decide = (rules: Parameters<typeof permissionPolicy>[0]['rules']) =>
    permissionPolicy({ root: '/', kinds, rules }).decide(call).decision;

  test('a rule for its host, or for its name, allows it', () => {
    expect(decide([])).toBe('ask');
    expect(decide([{ tool: 'web_search', host, decision: 'allow' }])).toBe('allow');
    expect(decide([{ tool: 'web_search', decision: 'allow' }])).toBe('allow');
    expect(decide([{ decision: 'deny' }])).toBe('deny');
    const policy = permissionPolicy({ root: '/', kinds });
    expect(policy.ruleFor(call, 'allow')).toEqual({ tool: 'web_search', host, decision: 'allow' });
  });

  test('attack: neither a rule for all tools nor one for another host allows it', () => {
    expect(decide([{ decision: 'allow' }])).toBe('ask');
    expect(decide([{ tool: 'web_search', host: 'docs.rs', decision: 'allow' }])).toBe('ask');
    const unknown = permissionPolicy({ root: '/', rules: [{ decision: 'allow' }] });
    expect(unknown.decide(call).decision).toBe('ask');
  });
});
