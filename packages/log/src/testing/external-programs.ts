import { once } from 'node:events';
import { createServer } from 'node:net';

/** Says that tests are skipped because something is not there; where all is required, that is an error. */
export function isMissing(isThere: boolean, missing: string): boolean {
  if (isThere) return false;
  if (process.env['MILLRACE_REQUIRE_ALL'] === '1') throw new Error(missing);
  console.warn(`Skipped: ${missing}`);
  return true;
}

/** One that nobody listens on, for a server that has to come back to the same one. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (typeof address !== 'object' || address === null) throw new Error('No port is free');
  return address.port;
}
