import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Returns true and prints a warning if a requirement of a test is missing. If MILLRACE_REQUIRE_ALL is 1, it
 * throws instead.
 */
export function isRequirementMissing(isThere: boolean, missing: string): boolean {
  if (isThere) return false;
  if (process.env['MILLRACE_REQUIRE_ALL'] === '1') throw new Error(missing);
  console.warn(`Skipped: ${missing}`);
  return true;
}

/** Returns an unused port. It is for servers that must restart on the same port. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (typeof address !== 'object' || address === null) throw new Error('No port is free');
  return address.port;
}
