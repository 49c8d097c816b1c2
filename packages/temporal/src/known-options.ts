import { AgentError } from '@millrace/agent';
import { assertOptionNames, type OptionNames } from '@millrace/core';

/**
 * Throws `bad_option` if the options are not an object, or have an unknown name. A misspelt option
 * must not turn a limit off.
 *
 * @example
 * assertKnownOptions('createActivities', options, { agents: true, providers: true, log: true });
 */
export function assertKnownOptions<Options extends object>(
  /** The function that takes the options. */
  of: string,
  options: Options,
  names: OptionNames<Options>,
): void {
  assertOptionNames(of, options, names, (message, option) => {
    return new AgentError('bad_option', message, { of, option });
  });
}
