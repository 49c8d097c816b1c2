import { type Clock, waitFor } from '../transport/clock.ts';
import { NetworkFailure } from '../transport/failures.ts';
import { HttpExchange, type ResponseBody } from '../transport/http-exchange.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import type { Transport } from '../transport/transport-options.ts';
import type { ResponseReader } from './response-reader.ts';

/** Maximum number of reconnects in a row without receiving any content. */
const maxReconnects = 6;
const firstReconnectMs = 250;

interface ConnectionOptions {
  /** Creates a new connection. */
  readonly connect: () => HttpExchange;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Returns the body of a response that the provider stores. If the connection is lost, the body continues on a
 * new connection.
 */
export function bodyOf(
  first: HttpExchange,
  reading: ResponseReader,
  { connect, clock, signal }: ConnectionOptions,
): ResponseBody {
  let exchange = first;
  let reconnects = 0;
  const reconnect = async (resumption: HttpRequest) => {
    exchange.close();
    await waitFor(firstReconnectMs * 2 ** reconnects++, clock, signal);
    signal.throwIfAborted();
    exchange = connect();
    await reading.reopen(exchange, resumption);
    return exchange.read();
  };
  return {
    read: async () => {
      for (let next = exchange.read(); ; ) {
        const bytes = await orFailure(next);
        if (bytes !== undefined && !(bytes instanceof NetworkFailure)) return bytes;
        const resumption = reconnects < maxReconnects ? reading.resumption : undefined;
        if (resumption === undefined && bytes !== undefined) throw bytes;
        if (resumption === undefined) return undefined;
        // If the new connection cannot be opened, the loop handles this like a lost connection and tries
        // again.
        next = reconnect(resumption);
      }
    },
    recordContent: () => {
      reconnects = 0;
      exchange.recordContent();
    },
    drainFor: (ms) => exchange.drainFor(ms),
    close: () => exchange.close(),
  };
}

/**
 * Returns a lost connection as a value instead of throwing an error, because the response may continue on a
 * new connection.
 */
async function orFailure<T>(reading: Promise<T>): Promise<T | NetworkFailure> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof NetworkFailure) return error;
    throw error;
  }
}

const stopTimeoutMs = 10_000;

/** Sends a request that stops a response. It does not wait for the answer. */
export function stopResponse(transport: Transport, http: HttpRequest | undefined): void {
  if (http === undefined) return;
  const timeouts = { ...transport.timeouts, firstByteTimeoutMs: stopTimeoutMs };
  const exchange = new HttpExchange({ ...transport, timeouts, signal: undefined });
  exchange
    .open(http)
    .catch(() => {})
    .finally(() => exchange.close());
}
