import { registerAppResource, registerAppTool } from '@modelcontextprotocol/ext-apps/server';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { McpOptions } from '../contract/mcp-options.ts';
import { call, McpConnections } from '../testing/mcp-connections.ts';

const connections = new McpConnections();
afterEach(() => connections.closeAll());

const uri = 'ui://weather/view.html';
const html = '<!doctype html><p id="city"></p>';

interface Shown {
  readonly mimeType?: string;
  readonly text?: string;
  readonly meta?: Record<string, unknown>;
}

/** Adds a tool with an app, a tool that only the app can call, and a tool that only the model can call. */
function addWeather(server: McpServer, { mimeType, text = html, meta }: Shown = {}): void {
  const city = z.object({ city: z.string() });
  registerAppTool(
    server,
    'show_weather',
    { inputSchema: city, _meta: { ui: { resourceUri: uri } } },
    async ({ city: name }) => ({
      content: [{ type: 'text', text: `Rain in ${name}` }],
      structuredContent: { city: name, rain: true },
      _meta: { hidden: 'for the app' },
    }),
  );
  server.registerTool(
    'refresh',
    { inputSchema: city, _meta: { ui: { visibility: ['app'] } } },
    async () => ({ content: [{ type: 'text', text: 'Sun' }] }),
  );
  server.registerTool(
    'forecast',
    { inputSchema: city, _meta: { ui: { visibility: ['model'] } } },
    async () => ({ content: [{ type: 'text', text: 'Snow' }] }),
  );
  const shown = { uri, mimeType: mimeType ?? 'text/html;profile=mcp-app', text };
  registerAppResource(server, 'Weather', uri, {}, async () => ({
    contents: [{ ...shown, ...(meta && { _meta: { ui: meta } }) }],
  }));
}

function connectTo(shown?: Shown, options: McpOptions = { apps: true }) {
  const abilities: unknown[] = [];
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'weather', version: '1.0.0' });
    addWeather(server, shown);
    return server;
  });
  const fetchHere: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    if (request.method === 'POST') abilities.push(await request.clone().text());
    return handler.fetch(request);
  };
  const http = { url: 'http://localhost/mcp', fetch: fetchHere };
  return { abilities, connected: connections.connect({ name: 'test', http }, options) };
}

/** A store of blobs that a test can read. */
function blobStore() {
  const stored = new Map<string, string>();
  const put = async (bytes: Uint8Array) => {
    const hash = String(stored.size + 1).padStart(64, '0');
    stored.set(hash, new TextDecoder().decode(bytes));
    return { hash, length: bytes.length };
  };
  const blobs = { put, get: async () => undefined, slice: async () => undefined };
  return { stored, blobs };
}

describe('24.4: MCP apps', () => {
  test('are announced, and kept with the result of their tool', async () => {
    const { abilities, connected } = connectTo({
      meta: {
        csp: {
          connectDomains: ['https://api.example', 'https://*.Example.com/', 'javascript:1', '*'],
          resourceDomains: ["https://cdn.example; script-src 'unsafe-eval'"],
          frameDomains: ['https://frame.example'],
        },
        prefersBorder: true,
      },
    });
    const { stored, blobs } = blobStore();
    const output = await call(await connected, 'show_weather', { city: 'Bern' }, { blobs });
    expect(abilities.join()).toContain(
      '"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}',
    );
    expect(output).toMatchObject({ text: 'Rain in Bern', value: { city: 'Bern', rain: true } });
    const app = output.metadata?.['mcpApp'] as Record<string, unknown>;
    expect(app).toEqual({
      server: 'test',
      uri,
      tool: 'show_weather',
      document: expect.any(String),
      tools: { show_weather: 'test_show_weather', refresh: 'test_refresh' },
      // The policy of a frame must not contain other directives.
      csp: { connectDomains: ['https://api.example', 'https://*.example.com'] },
      prefersBorder: true,
    });
    expect(stored.get(String(app['document']))).toBe(html);
    const raw = JSON.parse(stored.get(String(output.metadata?.['mcpResult'])) ?? '') as object;
    expect(raw).toMatchObject({ _meta: { hidden: 'for the app' } });
    const attached = output.attachments?.map(({ metadata }) => metadata?.['audience']);
    expect(attached).toEqual(['user', 'user']);
  });

  test('have tools that the model does not see, and the model has tools that apps do not see', async () => {
    const { tools, appTools } = await connectTo().connected;
    const names = (all: typeof tools) => all.map(({ name }) => name.replace('test_', ''));
    expect(names(tools)).toEqual([
      ...['show_weather', 'forecast', 'list_resources', 'read_resource'],
    ]);
    expect(names(appTools)).toEqual(['show_weather', 'refresh']);
  });

  test('are not announced or read without the option', async () => {
    const { abilities, connected } = connectTo(undefined, {});
    const { stored, blobs } = blobStore();
    const server = await connected;
    const output = await call(server, 'show_weather', { city: 'Bern' }, { blobs });
    expect(output.metadata).toBeUndefined();
    expect(stored.size).toBe(0);
    expect(server.appTools).toEqual([]);
    expect(abilities.join()).not.toContain('io.modelcontextprotocol/ui');
  });

  test.each([
    ['of another type', { mimeType: 'text/html' }, {}, 'its type is not'],
    ['that is too large', { text: 'x'.repeat(2000) }, { maxAppBytes: 1000 }, 'more than 1000'],
  ])('%s: the result stays without the app', async (_what, shown, options, why) => {
    const problems: string[] = [];
    const onProblem = (problem: string) => problems.push(problem);
    const server = await connectTo(shown, { apps: true, onProblem, ...options }).connected;
    const { blobs } = blobStore();
    const output = await call(server, 'show_weather', { city: 'Bern' }, { blobs });
    expect(output.text).toBe('Rain in Bern');
    expect(output.metadata?.['mcpApp']).toBeUndefined();
    expect(problems.join()).toContain(why);
  });
});
