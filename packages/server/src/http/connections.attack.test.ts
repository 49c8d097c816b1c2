import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { startTestServer, testToken } from '../testing/servers/test-server.ts';

const operator = testToken('operator');
const healthz = 'GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n';
const authorized = `GET /tasks HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${operator}\r\n\r\n`;

/** Opens a connection, sends a request, and returns when the answer begins. The connection stays open. */
async function hold(port: number, request: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.write(request);
  await once(socket, 'data');
  return socket;
}

test('18.550: attack: a client without a token holds all connections', async () => {
  await using server = await startTestServer({
    ...{ operators: ['operator'], limits: { maxConnections: 8 } },
  });
  const accepted = await hold(server.port, authorized);
  const strangers: Socket[] = [];
  for (let opened = 0; opened < 20; opened++) strangers.push(await hold(server.port, healthz));
  const late = await hold(server.port, authorized);
  for (const socket of strangers.slice(0, 12)) if (!socket.closed) await once(socket, 'close');
  // The two callers with a token keep their connections.
  for (const socket of [accepted, late]) {
    socket.write(authorized);
    const [bytes] = await once(socket, 'data');
    expect(String(bytes)).toMatch(/^HTTP\/1\.1 200/);
  }
  expect(strangers.filter(({ closed }) => !closed).length).toBeLessThanOrEqual(6);
});

test('18.550: a wrong token does not keep a connection', async () => {
  await using server = await startTestServer({
    ...{ operators: ['operator'], limits: { maxConnections: 4 } },
  });
  const wrong = authorized.replace(operator, testToken('wrong'));
  const first = await hold(server.port, wrong);
  for (let opened = 0; opened < 4; opened++) await hold(server.port, authorized);
  if (!first.closed) await once(first, 'close');
});
