import type { Grant } from '../../contract/service.ts';

/**
 * Some limits apply to the whole server. Without a share, a client with few rights could use up such a limit,
 * and the server would refuse the requests of all others.
 */

/** The part of a limit that one caller without full access can use. */
const share = 1 / 4;

/** Returns how much of a limit one caller without full access can use. */
export function shareOf(limit: number): number {
  return Math.max(1, Math.floor(limit * share));
}

/**
 * Returns a name for the resources that a caller can access. All tokens of an agent have the same name, because
 * a client can create further tokens. Returns undefined for full access.
 */
export function restrictedName({ scope }: Pick<Grant, 'scope'>): string | undefined {
  return scope.kind === 'all' ? undefined : JSON.stringify(scope);
}
