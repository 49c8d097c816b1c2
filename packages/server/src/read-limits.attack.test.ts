import { expect, onTestFinished, test } from 'vitest';
import { createServer, type ServerOptions } from './create-server.ts';
import { testToken } from './testing/servers/test-server.ts';

// A limit comes from an environment variable that is missing or misspelled. Without a check, clients could
// send data of any size.

const tokens = [testToken('operator')];
const create = (options: object) =>
  createServer({ tokens, ...(options as Partial<ServerOptions>) });

test.each([
  { limits: { maxBodyBytes: Number('1 MB') } },
  { limits: { maxBodyBytes: '100' } },
  { limits: { maxBodyBytes: -1 } },
  { limits: { maxBodyBites: 100 } },
  { limits: 100 },
  { streamLimits: { maxLagBytes: Number.NaN } },
  { streamLimits: { maxLagByte: 1 } },
])('attack: %j is refused', (options) => {
  expect(() => create(options)).toThrow(/^Cannot use /);
});

test('attack: a limit that is undefined has its default', async () => {
  const server = create({ limits: { maxBodyBytes: undefined, requestBurst: undefined } });
  onTestFinished(() => server.close());
  const response = await server.fetch(
    new Request('http://localhost/tokens', {
      ...{ method: 'POST', body: JSON.stringify({ label: 'x'.repeat(2 ** 20) }) },
      headers: { authorization: `Bearer ${tokens[0]}`, 'content-type': 'application/json' },
    }),
  );
  expect(response.status).toBe(413);
});
