import { connect } from 'node:net';
import type { Clock } from '@millrace/providers';

/**
 * Whether somebody has the port of an address. Most machines have no model server, and to learn that from
 * `fetch` costs a tenth of the time to the prompt: Node loads its HTTP client for it.
 */
export function isListening(
  address: string,
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number },
): Promise<boolean> {
  const { hostname, port, protocol } = new URL(address);
  const usual = protocol === 'https:' ? 443 : 80;
  return new Promise((resolve) => {
    const end = (isThere: boolean) => {
      cancel();
      socket.destroy();
      resolve(isThere);
    };
    // An IPv6 address is in brackets only where it is part of another.
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    const socket = connect({ host, port: port === '' ? usual : Number(port) });
    const cancel = clock.after(timeoutMs, () => end(false));
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}
