import { fault } from '../errors/wire-fault.ts';

/** Throws where a `fetch` of the caller gave something else. Told by shape: it may be another realm's. */
export function checkResponse(given: unknown): asserts given is Response {
  const { status, headers, body } = (given ?? {}) as { readonly [name: string]: unknown };
  const isResponse = typeof status === 'number' && hasMethod(headers, 'get');
  if (!isResponse) throw fault('invalid_request', 'fetch gave something that is no Response');
  if (body === null || body === undefined) return;
  if (!hasMethod(body, 'getReader')) {
    throw fault('invalid_request', 'the body of the Response that fetch gave is no web stream');
  }
  if ('locked' in body && body.locked) {
    throw fault(
      'invalid_request',
      'the body of the Response that fetch gave is being read already',
    );
  }
}

function hasMethod(value: unknown, name: string): value is object {
  return (
    typeof value === 'object' && value !== null && typeof Reflect.get(value, name) === 'function'
  );
}
