import type { ModelRequest } from '../contract/model-request.ts';
import type { HttpRequest, Wire } from './wire.ts';
import { WireFault } from './wire-fault.ts';

/** What a wire cannot make a request of can never be sent. */
export function httpOf(wire: Wire, request: ModelRequest): HttpRequest {
  try {
    return wire.http(request);
  } catch (error) {
    throw error instanceof WireFault ? error : unwritable(error);
  }
}

function unwritable(cause: unknown): WireFault {
  const complaint = { message: 'the request cannot be written', words: [] };
  return new WireFault(complaint, 'invalid_request', { cause });
}
