import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import { isListening } from './is-listening.ts';

const clock = new VirtualClock();
const within = { clock, timeoutMs: 400 };

async function listening(host: string): Promise<number> {
  const server = createServer((socket) => socket.destroy());
  onTestFinished(() => void server.close());
  await once(server.listen(0, host), 'listening');
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

test('somebody who has the port is there', async () => {
  const port = await listening('127.0.0.1');
  expect(await isListening(`http://127.0.0.1:${port}/v1`, within)).toBe(true);
  expect(clock.pending).toBe(0);
});

test('nobody is where nobody has it', async () => {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  await new Promise((resolve) => server.close(resolve));
  expect(await isListening(`http://127.0.0.1:${port}/v1`, within)).toBe(false);
  expect(clock.pending).toBe(0);
});

test('a host that does not answer is not waited for', async () => {
  // An address for documentation: nothing is sent back from it.
  const asked = isListening('http://192.0.2.1/v1', within);
  clock.advance(400);
  expect(await asked).toBe(false);
});
