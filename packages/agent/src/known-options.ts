import { assertOptionNames, type OptionNames } from '@millrace/core';
import { AgentError } from './contract/agent-error.ts';

/**
 * Throws `bad_option` if the options are not an object, or have an unknown name. `of` is the name of the
 * function that takes the options. `hintFor` can return a specific hint for an unknown name.
 */
export function assertKnownOptions<Options extends object>(
  of: string,
  options: Options,
  names: OptionNames<Options>,
  hintFor: (name: string) => string | undefined = () => undefined,
): void {
  assertOptionNames(of, options, names, (message, option) => {
    const hint = option === undefined ? undefined : hintFor(option);
    const text =
      hint === undefined ? message : `${message.slice(0, message.indexOf('. ') + 2)}${hint}`;
    return new AgentError('bad_option', text, { of, option });
  });
}
