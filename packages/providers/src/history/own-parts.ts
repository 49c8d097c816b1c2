import type { Part, ProviderState } from '@millrace/core';

/** Whose `providerState` may be sent: this provider's, about this model. */
export interface Owner {
  readonly provider: string;
  readonly model: string;
}

function isOwn(state: ProviderState | undefined, owner: Owner): boolean {
  return state !== undefined && state.provider === owner.provider && state.model === owner.model;
}

/**
 * The part as this provider may see it again: without what another one keeps in it. Undefined for
 * what only its maker can read (reasoning, hosted-tool blocks) and for reasoning that was cut off,
 * which nobody signed.
 */
export function ownPart<P extends Part>(part: P, owner: Owner): P | undefined {
  const own = isOwn(part.providerState, owner);
  const isPrivate = part.kind === 'reasoning' || part.kind === 'custom';
  if (isPrivate && (!own || part.partial)) return undefined;
  if (own && !part.partial) return part;
  const { providerState: _foreign, ...rest } = part;
  return rest as P;
}
