import { AgentError } from '../errors/agent-error.ts';

/** All of them, which the compiler sees to. */
type Fields<Options> = Readonly<Record<keyof Options, true>>;

/**
 * Throws where a tool is given a field that would be ignored. Other kits have approval on the tool: whoever
 * relied on that would have it run unasked.
 */
export function checkFields<Options extends { readonly name?: string | undefined }>(
  options: Options,
  fields: Fields<Options>,
): void {
  for (const [field, value] of Object.entries(options))
    if (value !== undefined && !Object.hasOwn(fields, field))
      throw unknown(options.name ?? '', field, Object.keys(fields));
}

const isApproval = /approv|confirm|permission/i;

function unknown(name: string, field: string, fields: readonly string[]): AgentError {
  const way = isApproval.test(field)
    ? 'Whether a call may run is said for all tools, by createAgent({ approve })'
    : `It takes ${fields.join(', ')}`;
  const message = `Cannot define tool ${name}: it has no ${field}. ${way}`;
  return new AgentError('bad_option', message, { tool: name, field });
}
