import { isError } from './is-error.ts';
import { redact } from './redact.ts';

const maxDepth = 8;

/**
 * A copy of what somebody else threw, for the cause of one of our errors: name, message, stack and
 * code without keys, and nothing else, since such errors can hold the whole request.
 */
export function redactError(thrown: unknown, secrets: readonly string[]): unknown {
  try {
    return redacted(thrown, secrets, 0);
  } catch {
    // Its fields throw in their turn. Then there is nothing to tell.
    return undefined;
  }
}

function redacted(thrown: unknown, secrets: readonly string[], depth: number): unknown {
  if (typeof thrown === 'string') return redact(thrown, secrets);
  if (!isError(thrown)) return undefined;
  const { name, message, stack, cause, code } = thrown as Error & { readonly code?: unknown };
  const inner = depth < maxDepth ? redacted(cause, secrets, depth + 1) : undefined;
  const shown = (text: unknown) => redact(typeof text === 'string' ? text : '', secrets);
  const copy = new Error(shown(message), inner === undefined ? {} : { cause: inner });
  copy.name = shown(name);
  copy.stack = shown(stack);
  return typeof code === 'string' ? Object.assign(copy, { code: shown(code) }) : copy;
}
