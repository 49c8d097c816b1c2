import type { RouteContext } from '../../../http/route.ts';
import { a2aError } from './a2a-error.ts';

/** The version of A2A that the server speaks. */
export const protocolVersion = '1.0';

/**
 * Refuses a request in another version of A2A. A request without a version means 0.3, as the protocol says. The
 * number of a patch has no effect.
 */
export function assertVersion({ headers, rawQuery }: RouteContext): void {
  const given = String(headers['a2a-version'] ?? rawQuery['A2A-Version'] ?? '').trim();
  const version = given === '' ? '0.3' : given;
  if (/^1\.0(?:\.\d{1,9})?$/.test(version)) return;
  const hint = given === '' ? ' Send the header A2A-Version: 1.0' : '';
  throw a2aError(
    'VERSION_NOT_SUPPORTED',
    `Cannot speak version ${version.slice(0, 32)} of A2A. This server speaks ${protocolVersion}.${hint}`,
  );
}
