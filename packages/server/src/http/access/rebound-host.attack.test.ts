import { expect, onTestFinished, test } from 'vitest';
import { createServer } from '../../create-server.ts';
import { rawRequest } from '../../testing/raw-request.ts';

// A host name of the attacker resolves to this machine (DNS rebinding). A page with that host name can add
// any header except `Host`. It pretends that a trusted proxy forwards a request for localhost.

test.each(['localhost', '127.0.0.1', 'agents.example'])(
  '18.112: a rebound page reads nothing from a server without tokens with x-forwarded-host: %s',
  async (forwarded) => {
    const server = createServer({
      ...{ tokens: 'none', trustedProxies: ['loopback'], hosts: ['agents.example'] },
    });
    onTestFinished(() => server.close());
    const { url } = await server.listen({ port: 0 });
    const port = Number(new URL(url).port);
    const ask = async (host: string) => {
      const headers = [`host: ${host}`, `x-forwarded-host: ${forwarded}`, 'connection: close'];
      const lines = ['GET /tasks HTTP/1.1', 'sec-fetch-site: same-origin', ...headers, '', ''];
      return (await rawRequest(port, lines.join('\r\n'))).text.slice(0, 12);
    };
    expect(await ask(`evil.example:${port}`)).toBe('HTTP/1.1 421');
    expect(await ask(`127.0.0.1:${port}`)).toBe('HTTP/1.1 200');
  },
);
