import { runConformanceTests } from '@durable-streams/server-conformance-tests';
import type { Log } from '@millrace/log';
import { afterAll, beforeAll } from 'vitest';
import { createServer } from '../../create-server.ts';

/**
 * Runs the conformance tests of Durable Streams against a server with the given log. The tests are in the npm
 * registry. They send no token.
 */
export function testDurableStreams(log: Log): void {
  const server = createServer({
    ...{ tokens: 'none', log, origins: ['https://example.com'] },
    limits: { longPollTimeoutMs: 500, closeTimeoutMs: 200, requestBurst: 1e6 },
  });
  // The tests read the address when they start, so the server can still set it.
  const config = { baseUrl: '', longPollTimeoutMs: 20_000 };
  beforeAll(async () => {
    const { url } = await server.listen({ port: 0 });
    config.baseUrl = `${url}/streams`;
  });
  afterAll(async () => {
    await server.close();
    await log.close();
  });
  runConformanceTests(config);
}
