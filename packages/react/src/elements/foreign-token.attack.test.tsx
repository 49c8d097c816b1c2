import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Client } from '@millrace/client';
import { Window } from 'happy-dom';
import { expect, onTestFinished, test, vi } from 'vitest';

// A page shows the sessions of two servers in one element, one after the other. The first server is hostile.

/** Starts a server that stores the tokens that it receives. */
async function startServer() {
  const tokens: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    tokens.push(request.headers.authorization);
    response.setHeader('content-type', 'application/json').end('[]');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { tokens, session: `http://127.0.0.1:${port}/tasks/t1` };
}

test.for([['token', 'src'] as const, ['src', 'token'] as const])(
  '18.186: attack: a client of the earlier server gets the token of the new server (%s first)',
  async (order) => {
    const window = new Window({ url: 'http://page.example/' });
    onTestFinished(async () => {
      await window.happyDOM.close();
      vi.unstubAllGlobals();
    });
    const { document, HTMLElement, CSSStyleSheet } = window;
    for (const [name, value] of Object.entries({ window, document, HTMLElement, CSSStyleSheet }))
      vi.stubGlobal(name, value);
    vi.resetModules();
    const { SessionElement } = await import('./session-element.tsx');
    const clients: Client[] = [];
    class TestElement extends SessionElement {
      protected content({ client }: { readonly client: Client }) {
        clients.push(client);
        return null;
      }
    }
    window.customElements.define('test-session', TestElement as never);
    const [hostile, own] = [await startServer(), await startServer()];
    const element = document.createElement('test-session') as unknown as TestElement;
    Object.assign(element, { token: 'first', src: hostile.session });
    document.body.append(element as never);
    await clients[0]?.agents();
    expect(hostile.tokens).toEqual(['Bearer first']);
    const next = { token: 'secret', src: own.session };
    for (const name of order) Object.assign(element, { [name]: next[name] });
    await clients[0]?.agents();
    await clients.at(-1)?.agents();
    expect(hostile.tokens.at(-1)).not.toBe('Bearer secret');
    expect(own.tokens).toEqual(['Bearer secret']);
    document.body.replaceChildren();
  },
);
