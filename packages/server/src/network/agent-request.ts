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
 * Sends a request to a remote agent and resolves when the answer starts. Each request opens its own
 * connection, whose address the network policy checks. Redirects are not followed.
 */
export function requestAgent(
  address: string,
  { method, headers = {}, body, signal }: AgentRequest,
  network: AgentNetwork,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const url = new URL(address);
  // The connection does not look up an IP address, so it is checked here.
  network.assertHost(url);
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const sent = send(url, {
    ...{ method, signal, lookup: network.lookup, agent: false },
    headers: { ...headers, ...length },
  });
  sent.once('response', resolve);
  // Stays attached: an aborted request can emit an error after its answer started.
  sent.on('error', reject);
  sent.end(body);
  return promise;
}
