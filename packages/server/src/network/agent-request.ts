import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { AgentNetwork } from './agent-network.ts';

interface AgentRequest {
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * Returns the address of a route below the URL of a remote agent. The slashes at the end of the URL are
 * removed one by one. A regular expression would need quadratic time for a long URL that an agent chose.
 */
export function agentAddress(url: string, route: `/${string}`): string {
  let end = url.length;
  while (url.charAt(end - 1) === '/') end--;
  return `${url.slice(0, end)}${route}`;
}

/**
 * Sends a request to a remote agent. Resolves when the answer starts. Each request opens its own
 * connection, and the network policy checks its address. Redirects are not followed.
 */
export function requestAgent(
  address: string,
  { method, headers = {}, body, signal }: AgentRequest,
  network: AgentNetwork,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const url = new URL(address);
  // `lookup` is not called for an IP address, so the address is checked here.
  network.assertHost(url);
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const sent = send(url, {
    ...{ method, signal, lookup: network.lookup, agent: false },
    headers: { ...headers, ...length },
  });
  sent.once('response', resolve);
  // This listener stays attached, because an aborted request can emit an error after its answer has
  // started.
  sent.on('error', reject);
  sent.end(body);
  return promise;
}
