import { type AgentOptions, createAgent } from '@millrace/agent';
import { type Log, memoryLog } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { onTestFinished } from 'vitest';
import type { ServedAgent } from '../../contract/served-agent.ts';
import { createServer, type ServerOptions } from '../../create-server.ts';

interface McpServerOptions {
  readonly agent?: Partial<AgentOptions> | undefined;
  readonly server?: Partial<ServerOptions> | undefined;
  readonly log?: Log | undefined;
  readonly more?: ((log: Log) => readonly ServedAgent[]) | undefined;
}

/** Serves an agent with a scripted model. */
export async function serveMcp(script: readonly ScriptEntry[], options: McpServerOptions = {}) {
  const { log = memoryLog(), more = () => [] } = options;
  const provider = scriptedProvider(script, { pieces: 'token' });
  const agent = createAgent({ provider, log, whileAsking: 'park', ...options.agent });
  const server = createServer({
    ...{ tokens: 'none', log, limits: { closeTimeoutMs: 200 }, ...options.server },
    agents: [{ type: 'loop', name: 'helper', description: 'Helps', agent }, ...more(log)],
  });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    await server.close();
    await log.close();
  });
  return { url, log, server };
}

type Versions = '2026-07-28' | '2025-11-25' | '2025-06-18';
type ElicitHandler = (params: {
  readonly message: string;
  readonly requestedSchema?: unknown;
}) => object | Promise<object>;

interface McpClientOptions {
  readonly version?: Versions | undefined;
  readonly token?: string | undefined;
  /** Answers the questions of the server. Default: the client does not support them. */
  readonly onElicit?: ElicitHandler | undefined;
  readonly extensions?: Record<string, object> | undefined;
  /** Answers for the model of the client. Default: the client has no model. */
  readonly onSample?: (() => object) | undefined;
}

/** Connects the official client to `/mcp`. */
export async function mcpClient(url: string, options: McpClientOptions = {}) {
  const { version = '2026-07-28', token, onElicit, onSample, extensions } = options;
  const mode = version === '2026-07-28' ? { pin: version } : ('legacy' as const);
  const client = new Client({ name: 'test', version: '1.0.0' }, {
    capabilities: {
      ...(onElicit && { elicitation: { form: {} } }),
      ...(onSample && { sampling: {} }),
      ...(extensions && { extensions }),
    },
    versionNegotiation: { mode },
    ...(version !== '2026-07-28' && { supportedProtocolVersions: [version] }),
  } as never);
  if (onElicit !== undefined)
    client.setRequestHandler(
      'elicitation/create',
      async ({ params }) => onElicit(params as never) as never,
    );
  if (onSample !== undefined)
    client.setRequestHandler('sampling/createMessage', async () => onSample() as never);
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
    requestInit: { headers },
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

/** Sends one message to `/mcp` without a client. */
export async function postMcp(url: string, message: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      ...{ 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      ...headers,
    },
    body: typeof message === 'string' ? message : JSON.stringify(message),
  });
  const text = await response.text();
  const json = text === '' || !text.startsWith('{') ? undefined : JSON.parse(text);
  return { status: response.status, headers: response.headers, text, json };
}
