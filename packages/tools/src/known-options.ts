import { AgentError } from '@millrace/agent';
import { assertOptionNames, type OptionNames } from '@millrace/core';

/**
 * Throws `bad_option` if the options are not an object, or have an unknown name. Without this check, a
 * misspelled option could silently disable a limit or the sandbox.
 *
 * @example
 * assertKnownOptions('createWorkspace', options, { root: true });
 */
export function assertKnownOptions<Options extends object>(
  /** The name of the function that receives the options. */
  of: string,
  options: Options,
  names: OptionNames<Options>,
): void {
  assertOptionNames(of, options, names, (message, option) => {
    return new AgentError('bad_option', message, { of, option });
  });
}
