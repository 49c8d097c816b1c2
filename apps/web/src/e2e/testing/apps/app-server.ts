import { fileURLToPath } from 'node:url';
import { createAgent } from '@millrace/agent';
import { type JsonObject, type Part, toolCallPart } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { createProvider, type ModelRequest, type Provider } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';
import { createServer, type Server, type Task, toolAgent } from '@millrace/server';
import { connectMcp, type McpTools } from '@millrace/tools/mcp';
import { registerAppResource, registerAppTool } from '@modelcontextprotocol/ext-apps/server';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { build } from 'vite';
import { z } from 'zod';
import { builtPage } from '../built-page.ts';

const operator = 'mr_0123456789abcdefghijklmnopqrstuvwxyz';
const city = z.object({ city: z.string() });
const uri = 'ui://weather/view.html';
const hostileUri = 'ui://weather/hostile.html';
const mimeType = 'text/html;profile=mcp-app';

/**
 * A server whose agent uses an MCP server with apps. A message `show Bern` shows the weather, and a message
 * `attack` with a document shows that document as an app. The answer to `say` is the rest of the message.
 */
export class AppServer {
  readonly #server: Server;
  readonly #connected: McpTools;
  readonly log: Log;
  /** The calls that the MCP server has executed. */
  readonly calls: string[];
  /** The requests that the model received. */
  readonly requests: ModelRequest[];
  #url = '';

  private constructor(
    parts: Pick<AppServer, 'log' | 'calls' | 'requests'> & {
      readonly server: Server;
      readonly connected: McpTools;
    },
  ) {
    this.#server = parts.server;
    this.#connected = parts.connected;
    this.log = parts.log;
    this.calls = parts.calls;
    this.requests = parts.requests;
  }

  static async start(): Promise<AppServer> {
    const [log, calls, requests] = [memoryLog(), [] as string[], [] as ModelRequest[]];
    const code = await appCode();
    const documents = { weather: weatherPage(code), hostile: '' };
    const handler = createMcpHandler(() => weatherServer(calls, documents));
    const fetchHere: typeof fetch = (input, init) => handler.fetch(new Request(input, init));
    const http = { url: 'http://localhost/mcp', fetch: fetchHere };
    const connected = await connectMcp({ name: 'weather', http }, { apps: true });
    const approve = ({ name }: { readonly name: string }) =>
      name === 'weather_order'
        ? ({ decision: 'ask', reason: 'It costs money.' } as const)
        : 'allow';
    const rules = { approve, whileAsking: 'park', log } as const;
    const provider = weatherModel(requests, (html) => {
      documents.hostile = html;
    });
    const agent = createAgent({ ...rules, name: 'guide', provider, tools: connected.tools });
    const appAgent = 'guide-apps';
    const agents = [
      { type: 'loop', name: 'guide', description: 'Shows apps', agent, appAgent } as const,
      toolAgent({ ...rules, name: appAgent, tools: connected.appTools }),
    ];
    const server = createServer({ tokens: [operator], log, agents, page: builtPage() });
    const started = new AppServer({ server, connected, log, calls, requests });
    started.#url = (await server.listen({ port: 0 })).url;
    return started;
  }

  get url(): string {
    return this.#url;
  }

  /** The token of the operator. */
  get token(): string {
    return operator;
  }

  /** Returns the tasks of an agent, the newest first. */
  async tasks(agent: string): Promise<readonly Pick<Task, 'id' | 'task_metadata'>[]> {
    const headers = { authorization: `Bearer ${operator}` };
    const response = await fetch(`${this.#url}/tasks?agent_name=${agent}`, { headers });
    return (await response.json()) as Task[];
  }

  async close(): Promise<void> {
    await this.#server.close();
    await this.#connected.close();
  }
}

/** Creates an MCP server with the helpers of the official package. */
function weatherServer(
  calls: string[],
  documents: { readonly weather: string; readonly hostile: string },
): McpServer {
  const server = new McpServer({ name: 'weather', version: '1.0.0' });
  const shown = (ui: { readonly resourceUri: string }) => ({ inputSchema: city, _meta: { ui } });
  const show = async ({ city: name }: { readonly city: string }) => {
    calls.push(`show ${name}`);
    return {
      content: [{ type: 'text', text: `Rain in ${name}` } as const],
      structuredContent: { city: name, rain: true },
      _meta: { hidden: 'only for the app' },
    };
  };
  registerAppTool(server, 'show', shown({ resourceUri: uri }), show);
  registerAppTool(server, 'hostile', shown({ resourceUri: hostileUri }), show);
  const visible = (visibility: string[]) => ({ _meta: { ui: { visibility } } });
  server.registerTool('refresh', { inputSchema: city, ...visible(['app']) }, async () => {
    calls.push('refresh');
    return { content: [{ type: 'text', text: 'The sun shines now' }] };
  });
  const order = z.object({ item: z.string() });
  server.registerTool('order', { inputSchema: order }, async ({ item }) => {
    calls.push(`order ${item}`);
    return { content: [{ type: 'text', text: `Ordered an ${item}` }] };
  });
  server.registerTool('forecast', { inputSchema: city, ...visible(['model']) }, async () => {
    calls.push('forecast');
    return { content: [{ type: 'text', text: 'Snow' }] };
  });
  const ui = { csp: { connectDomains: ['https://api.weather.example'] } };
  registerAppResource(server, 'Weather', uri, {}, async () => ({
    contents: [{ uri, mimeType, text: documents.weather, _meta: { ui } }],
  }));
  registerAppResource(server, 'Hostile', hostileUri, {}, async () => ({
    contents: [{ uri: hostileUri, mimeType, text: documents.hostile, _meta: { ui } }],
  }));
  return server;
}

/** A model that calls a tool after `show` and `attack`, and answers with a sentence otherwise. */
function weatherModel(requests: ModelRequest[], setDocument: (html: string) => void): Provider {
  return createProvider('guide', 'guide-1', async function* (request, context) {
    requests.push(request);
    const last = request.items.findLast(({ kind }) => kind === 'user' || kind === 'tool');
    const [first] = last?.parts ?? [];
    const text = last?.kind === 'user' && first?.kind === 'text' ? first.text : '';
    const [word = '', ...rest] = text.split(/\s/);
    const callOf = (name: string, input: JsonObject) =>
      toolCallPart(context.ids.toolCall(), name, input);
    let part: Part | string = 'Here you are.';
    if (word === 'say') part = text.slice(word.length);
    if (word === 'show') part = callOf('weather_show', { city: rest[0] ?? '' });
    if (word === 'attack') {
      setDocument(text.slice(word.length));
      part = callOf('weather_hostile', { city: 'Bern' });
    }
    yield* scriptedProvider([{ content: { parts: [part] } }]).stream(request, context);
  });
}

/** Bundles the app into one script, as servers of apps do. */
async function appCode(): Promise<string> {
  const entry = fileURLToPath(new URL('./weather-app.js', import.meta.url));
  const built = await build({
    ...{ configFile: false, logLevel: 'error', mode: 'production' },
    define: { 'process.env.NODE_ENV': '"production"' },
    build: { write: false, lib: { entry, formats: ['es'] } },
  });
  const outputs = [built].flat().flatMap((one) => ('output' in one ? one.output : []));
  const chunk = outputs.find((file) => file.type === 'chunk');
  if (chunk?.type !== 'chunk') throw new Error('The app has no code');
  return chunk.code.replaceAll('</script', '<\\/script');
}

const buttons = ['refresh', 'order', 'foreign', 'link', 'message', 'grow', 'load'];

function weatherPage(code: string): string {
  const lines = ['input', 'result', 'theme', 'host', 'answer'].map((id) => `<p id="${id}"></p>`);
  const pressed = buttons.map((id) => `<button id="${id}">${id}</button>`);
  return `<!doctype html><meta charset="utf-8"><title>Weather</title>${lines.join('')}${pressed.join('')}<script type="module">${code}</script>`;
}
