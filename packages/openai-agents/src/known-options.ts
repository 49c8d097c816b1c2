import { assertOptionNames, type OptionNames } from '@millrace/core';

/**
 * Throws a TypeError if the options are not an object, or have an unknown name. Without this check, a
 * misspelt option could turn a limit off.
 *
 * Workflows use this function too. Their sandbox cannot load `@millrace/agent`, so the error is not an
 * `AgentError`.
 *
 * @example
 * assertKnownOptions('runAgent', options, { session: true, input: true });
 */
export function assertKnownOptions<Options extends object>(
  /** The name of the function that takes the options. */
  of: string,
  options: Options,
  names: OptionNames<Options>,
): void {
  assertOptionNames(of, options, names, (message) => new TypeError(message));
}
