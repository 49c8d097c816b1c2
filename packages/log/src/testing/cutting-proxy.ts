import { once } from 'node:events';
import { createServer, connect as dial, type Socket } from 'node:net';

/** A TCP proxy that cuts connections at the places that a test chooses. */
export interface CuttingProxy {
  readonly port: number;
  /**
   * Cuts the connection when a client next sends this text. `before`: the server does not receive the text.
   * `after`: the server receives it, but the client gets no answer.
   */
  cutAt(words: string, when: 'before' | 'after'): void;
  /**
   * When a client next sends this text, the proxy answers with a message that no Postgres client can parse.
   */
  garbleAt(words: string): void;
  /** After the next cut, all connections fail until `mend` is called. */
  breakForGood(): void;
  mend(): void;
  /** Number of cuts so far. */
  readonly cuts: number;
  close(): Promise<void>;
}

/** A Postgres message that requests an authentication method that does not exist. */
const unparsable = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 99]);

export async function cuttingProxy(to: number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let order: { readonly words: string; readonly when: 'before' | 'after' | 'garble' } | undefined;
  let cuts = 0;
  let way: 'mended' | 'breaks for good' | 'broken' = 'mended';
  const server = createServer((client) => {
    if (way === 'broken') return void client.on('error', () => {}).destroy();
    const upstream = dial(to, '127.0.0.1');
    let isMute = false;
    const end = () => {
      client.destroy();
      upstream.destroy();
      sockets.delete(client);
    };
    sockets.add(client);
    client.on('data', (bytes: Buffer) => {
      const found = order !== undefined && bytes.includes(order.words) ? order : undefined;
      if (found !== undefined) {
        order = undefined;
        cuts++;
        if (way === 'breaks for good') way = 'broken';
        if (found.when === 'garble') return void client.write(unparsable);
        if (found.when === 'before') return end();
        isMute = true;
      }
      upstream.write(bytes);
    });
    // In the case `after`, the answer shows that the server received the data. The answer is not forwarded.
    upstream.on('data', (bytes: Buffer) => (isMute ? end() : client.write(bytes)));
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('there is no free port');
  return {
    port: address.port,
    get cuts() {
      return cuts;
    },
    cutAt(words, when) {
      order = { words, when };
    },
    garbleAt(words) {
      order = { words, when: 'garble' };
    },
    breakForGood() {
      way = 'breaks for good';
    },
    mend() {
      way = 'mended';
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
