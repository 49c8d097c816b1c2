import type { ModelRequest } from '../contract/model-request.ts';
import { WireFault } from '../errors/wire-fault.ts';
import type { HttpRequest } from '../transport/http-request.ts';
import { checkRequest } from './check-request.ts';
import type { Wire } from './wire.ts';

/** What a wire cannot make a request of can never be sent. */
export function httpOf(wire: Wire, request: ModelRequest): HttpRequest {
  try {
    checkRequest(request);
    return wire.http(request);
  } catch (error) {
    throw error instanceof WireFault ? error : unwritable(error);
  }
}

function unwritable(cause: unknown): WireFault {
  const complaint = { message: 'the request cannot be written', words: [] };
  return new WireFault(complaint, 'invalid_request', { cause });
}
