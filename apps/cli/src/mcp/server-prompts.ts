import type { McpPrompt, McpTools } from '@millrace/tools/mcp';
import { UsageError } from '../contract/errors.ts';
import type { SlashPrompt } from '../contract/extensions.ts';
import { oneLine } from '../text/cells/printable.ts';

const maxDescriptionLength = 120;
const maxNameLength = 80;

/** Returns the prompts of a connected MCP server as slash commands: `/server:prompt`. */
export function serverPrompts(server: string, connected: McpTools): readonly SlashPrompt[] {
  return connected.prompts.map((prompt) => {
    const { name, description, arguments: fields } = prompt;
    const placeholders = fields.map((field) => {
      const label = oneLine(field.name, maxNameLength);
      return field.isRequired ? `<${label}>` : `[${label}]`;
    });
    return {
      name: commandName(server, name),
      description: oneLine(description, maxDescriptionLength) || `A prompt of ${server}`,
      argument: placeholders.length === 0 ? undefined : placeholders.join(' '),
      expand: async (given) => connected.getPrompt(name, promptArguments(prompt, given)),
    };
  });
}

/** The server chooses the name, so only plain characters are kept. */
function commandName(server: string, prompt: string): string {
  const plain = `${server}:${prompt}`.toLowerCase().replace(/[^a-z0-9_.:-]+/g, '-');
  return `/${plain.slice(0, maxNameLength)}`;
}

/**
 * Reads the words after a command: `name=value` for a named argument, else the arguments in their order. The last
 * argument takes the rest of the text.
 */
function promptArguments(
  { name, arguments: fields }: McpPrompt,
  text: string,
): Readonly<Record<string, string>> {
  const given = new Map<string, string>();
  const open = () => fields.filter((field) => !given.has(field.name));
  let rest = text.trim();
  while (rest !== '' && open().length > 0) {
    const [word = ''] = /^\S+/.exec(rest) ?? [];
    const named = open().find((field) => word.startsWith(`${field.name}=`));
    const [next] = open();
    const isLast = named === undefined && open().length === 1;
    const value = isLast ? rest : word;
    rest = rest.slice(value.length).trim();
    if (named !== undefined) given.set(named.name, value.slice(named.name.length + 1));
    else if (next !== undefined) given.set(next.name, value);
  }
  const missing = open().find(({ isRequired }) => isRequired);
  if (missing !== undefined)
    throw new UsageError(`The prompt ${name} needs the argument ${missing.name}`);
  return Object.fromEntries(given);
}
