import { isMillraceError } from '@millrace/core';
import { ProviderError } from '@millrace/providers';
import { ServerError } from '../contract/server-error.ts';

const maxLength = 2000;

/** Why something failed, for people: what the agent's author wrote, or threw. */
export function reasonOf(error: unknown): string {
  const text =
    error instanceof Error
      ? error.message
      : typeof error === 'string'
        ? error
        : 'it threw no error';
  return text.slice(0, maxLength);
}

/** For programs. */
export function codeOf(error: unknown): string {
  if (error instanceof ProviderError) return error.kind;
  const reason = error instanceof ServerError ? error.details?.['reason'] : undefined;
  if (typeof reason === 'string') return reason;
  return isMillraceError(error) ? error.code : 'agent_failed';
}
