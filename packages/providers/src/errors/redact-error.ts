import { redact } from './redact.ts';

const maxDepth = 8;

/**
 * A copy of what somebody else threw, for the cause of one of our errors: name, message, stack and
 * code without keys, and nothing else, since such errors can hold the whole request.
 */
export function redactError(thrown: unknown, secrets: readonly string[], depth = 0): unknown {
  if (typeof thrown === 'string') return redact(thrown, secrets);
  if (!(thrown instanceof Error)) return undefined;
  const { name, message, stack, cause, code } = thrown as Error & { readonly code?: unknown };
  const inner = depth < maxDepth ? redactError(cause, secrets, depth + 1) : undefined;
  const copy = new Error(redact(message, secrets), inner === undefined ? {} : { cause: inner });
  copy.name = redact(name, secrets);
  copy.stack = redact(stack ?? '', secrets);
  return typeof code === 'string' ? Object.assign(copy, { code: redact(code, secrets) }) : copy;
}
