import type { RequestMetadata } from '../contract/service.ts';
import { idempotencyKey } from './idempotency-key.ts';
import type { RouteContext } from './route.ts';

/** What came with a request, besides what it asks for. */
export function sentWith({
  headers,
  trace,
}: Pick<RouteContext, 'headers' | 'trace'>): RequestMetadata {
  return { key: idempotencyKey(headers), trace };
}
