import { findUnknownOption, type OptionNames } from '@millrace/core';
import { AgentError } from './contract/agent-error.ts';

/**
 * Throws `bad_option` if the options are not an object, or have an unknown name. `of` names the
 * function that takes them. `hintFor` can replace the hint for a name.
 */
export function assertKnownOptions<Options extends object>(
  of: string,
  options: Options,
  names: OptionNames<Options>,
  hintFor: (name: string) => string | undefined = () => undefined,
): void {
  if (typeof options !== 'object' || options === null) throw notAnObject(of, Object.keys(names));
  const unknown = findUnknownOption(options, names);
  if (unknown === undefined) return;
  const { name, hint } = unknown;
  const message = `Cannot use the options of ${of}: there is no option ${name}. ${hintFor(name) ?? hint}`;
  throw new AgentError('bad_option', message, { of, option: name });
}

function notAnObject(of: string, names: readonly string[]): AgentError {
  const message = `Cannot use the options of ${of}: pass an object with ${names.join(', ')}`;
  return new AgentError('bad_option', message, { of });
}
