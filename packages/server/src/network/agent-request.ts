import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { ConnectionPolicy } from './agent-network.ts';
import { joinSmallChunks } from './join-chunks.ts';

interface AgentRequest {
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
}

/** Maximum number of bytes of an answer that wait for their reader. The parsed bytes can be many small chunks. */
const highWaterMark = 16_384;

/**
 * Returns the address of a route below the URL of a remote agent. A loop removes the slashes at the end of
 * the URL. A regular expression would need quadratic time for a long URL.
 */
export function agentAddress(url: string, route: `/${string}`): string {
  let end = url.length;
  while (url.charAt(end - 1) === '/') end--;
  return `${url.slice(0, end)}${route}`;
}

/**
 * Sends a request to a remote agent. Resolves when the response starts. Each request opens its own
 * connection, and the network policy checks the address of the connection. Redirects are not followed.
 */
export function requestAgent(
  address: string,
  { method, headers = {}, body, signal }: AgentRequest,
  network: ConnectionPolicy,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const url = new URL(address);
  // Node does not call `lookup` for an IP address, so this line checks the address.
  network.assertHost(url);
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const sent = send(url, {
    ...{ method, signal, lookup: network.lookup, agent: false, highWaterMark },
    headers: { ...headers, ...length },
  });
  sent.once('response', (response: IncomingMessage) => {
    joinSmallChunks(response);
    resolve(response);
  });
  // This listener stays attached, because an aborted request can emit an error after its response has
  // started.
  sent.on('error', reject);
  // Without this listener, Node closes the connection of an unexpected upgrade and emits no error.
  sent.once('upgrade', (_response, socket) => {
    socket.destroy();
    reject(new Error('The agent answered with an upgrade of the connection'));
  });
  sent.once('close', () => reject(new Error('The connection closed before the response')));
  sent.end(body);
  return promise;
}
