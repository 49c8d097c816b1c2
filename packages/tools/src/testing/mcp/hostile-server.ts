import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

interface Asked {
  readonly id?: number | undefined;
  /** The method of the message. `GET` for a request that opens a stream, and empty for an answer of the client. */
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>> | undefined;
}

export interface HostileServer {
  readonly url: string;
  /** The methods of all messages of the client. */
  readonly methods: readonly string[];
  close(): Promise<void>;
}

/** Returns the JSON text of a result, or undefined if it answers the request itself or not at all. */
type Answer = (asked: Asked, outgoing: ServerResponse) => string | undefined | Promise<undefined>;

/**
 * Starts an MCP server of the revision of 2025 that can violate the protocol. `answer` gets each message of the client
 * except those of the handshake.
 */
export async function startHostileServer(
  capabilities: readonly string[],
  answer: Answer,
): Promise<HostileServer> {
  const methods: string[] = [];
  const server = createServer((incoming, outgoing) => void handle(incoming, outgoing));
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const isGet = incoming.method === 'GET';
    if (incoming.method === 'DELETE') return void outgoing.writeHead(405).end();
    const asked = isGet ? { method: 'GET' } : (JSON.parse(await text(incoming)) as Partial<Asked>);
    const { id, method = '', params } = asked as Partial<Asked>;
    methods.push(method);
    const result = await respond({ id, method, params }, outgoing);
    if (result === undefined || outgoing.headersSent) return;
    outgoing.writeHead(200, { 'content-type': 'application/json' });
    outgoing.end(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);
  }

  function respond(asked: Asked, outgoing: ServerResponse) {
    switch (asked.method) {
      case 'initialize':
        return JSON.stringify({
          protocolVersion: '2025-06-18',
          capabilities: Object.fromEntries(
            capabilities.map((name) => [name, { listChanged: true }]),
          ),
          serverInfo: { name: 'hostile', version: '1' },
        });
      case 'server/discover':
      case 'notifications/cancelled':
        return void outgoing.writeHead(asked.id === undefined ? 202 : 400).end();
      case 'notifications/initialized':
        return void outgoing.writeHead(202).end();
      default:
        return answer(asked, outgoing);
    }
  }

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    methods,
    close: async () => {
      const closed = new Promise((resolve) => server.once('close', resolve));
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Opens a stream of events. Returns a function that sends JSON texts, and waits while the client does not read. */
export function openStream(
  outgoing: ServerResponse,
  status = 200,
): (json: string) => Promise<void> {
  outgoing.writeHead(status, { 'content-type': 'text/event-stream' });
  return async (json) => {
    if (outgoing.destroyed || outgoing.write(`data: ${json}\n\n`)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    outgoing.once('drain', resolve).once('close', resolve);
    await promise;
    outgoing.off('drain', resolve).off('close', resolve);
  };
}
