import { createServer, type ServedAgent, type ServerOptions } from '@millrace/server';
import { onTestFinished } from 'vitest';
import { type Client, type ClientOptions, createClient } from '../create-client.ts';

interface Serving {
  readonly url: string;
  readonly port: number;
  /** Creates a new client. It is closed at the end of the test. */
  client(options?: Partial<ClientOptions>): Client;
}

/** Starts a server on a free local port for one test. */
export async function serving(
  agents: readonly ServedAgent[],
  options: Partial<ServerOptions> = {},
): Promise<Serving> {
  const server = createServer({ tokens: 'none', agents, ...options });
  const { url } = await server.listen({ port: 0 });
  const clients: Client[] = [];
  onTestFinished(async () => {
    for (const client of clients) client.close();
    await server.close();
  });
  return {
    url,
    port: Number(new URL(url).port),
    client(given = {}) {
      const client = createClient({ url, ...given });
      clients.push(client);
      return client;
    },
  };
}
