import { assertOptionNames, type OptionNames } from '@millrace/core';

/**
 * Throws a TypeError if the options are not an object, or have an unknown name. A misspelt option must
 * not turn a limit off.
 *
 * Workflows use this function too. Their sandbox cannot load agents, so the error is none of
 * `@millrace/agent`.
 *
 * @example
 * assertKnownOptions('runAgent', options, { session: true, input: true });
 */
export function assertKnownOptions<Options extends object>(
  /** The function that takes the options. */
  of: string,
  options: Options,
  names: OptionNames<Options>,
): void {
  assertOptionNames(of, options, names, (message) => new TypeError(message));
}
