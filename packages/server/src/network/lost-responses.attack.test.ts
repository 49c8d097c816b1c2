import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { AgentNetwork } from './agent-network.ts';
import { requestAgent } from './agent-request.ts';

// A hostile remote agent answers in a way for which Node reports no error. The health checks of all agents
// wait for this request, so it must end.

test.for([
  ['an upgrade', 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'],
  ['nothing', ''],
])('18.185: attack: a request ends if the agent answers with %s', async ([, answer = '']) => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const { signal } = new AbortController();
  const sent = requestAgent(
    `http://127.0.0.1:${port}/healthz`,
    { method: 'GET', signal },
    new AgentNetwork(['loopback']),
  );
  await expect(sent).rejects.toThrow();
});
