import { AgentError } from '@millrace/agent';
import { assertOptionNames, type OptionNames } from '@millrace/core';

/**
 * Throws `bad_option` if the options are not an object, or have an unknown name. Without this check, a
 * misspelt option could turn a limit off.
 *
 * @example
 * assertKnownOptions('createActivities', options, { agents: true, providers: true, log: true });
 */
export function assertKnownOptions<Options extends object>(
  /** The name of the function that takes the options. */
  of: string,
  options: Options,
  names: OptionNames<Options>,
): void {
  assertOptionNames(of, options, names, (message, option) => {
    return new AgentError('bad_option', message, { of, option });
  });
}
