import type { Extensions, SlashPrompt } from '../contract/extensions.ts';
import { expandCommand } from './custom-commands.ts';
import { skillText } from './skills.ts';

/** Returns the commands and skills that the user can start. A command hides a skill of its name. */
export function slashPrompts(
  { commands, skills }: Extensions,
  /** The prompts of MCP servers. Default: none. */
  ofServers: readonly SlashPrompt[] = [],
): readonly SlashPrompt[] {
  const all = [
    ...commands.map((command): SlashPrompt => {
      const { name, description, argumentHint: argument } = command;
      const expand = async (given: string) => expandCommand(command, given);
      return { name: `/${name}`, description, argument, expand };
    }),
    ...skills
      .filter(({ isForUser }) => isForUser)
      .map((skill): SlashPrompt => {
        const { name, description } = skill;
        const expand = (given: string) => skillText(skill, given);
        return { name: `/${name.toLowerCase()}`, description, argument: '[request]', expand };
      }),
    ...ofServers,
  ];
  const first = new Map<string, SlashPrompt>();
  for (const one of all) if (!first.has(one.name)) first.set(one.name, one);
  return [...first.values()];
}

const openTag = '<command_text name="';

/** Returns the part of a message that contains the text of a command. */
function promptPart(name: string, text: string): string {
  return `${openTag}${name}">\n${text}\n</command_text>`;
}

/** Returns the name of the command in a part that `promptPart` created. */
export function promptOfPart(text: string): string | undefined {
  if (!text.startsWith(openTag)) return undefined;
  return /^[^"\n]{1,100}/.exec(text.slice(openTag.length))?.[0];
}

const maxShownLines = 5;
const maxShownLength = 200;

/**
 * Returns the start of the text of a command, for the screen. The user wrote only the name of the command, but a
 * session of another person can contain any text here, so the name alone is not enough.
 */
export function startOfPrompt(text: string): string {
  const body = text.slice(text.indexOf('>') + 1).replace(/<\/command_text>\s*$/, '');
  const lines = body.split('\n').filter((line) => line.trim() !== '');
  const shown = lines
    .slice(0, maxShownLines)
    .map((line) => (line.length > maxShownLength ? `${line.slice(0, maxShownLength)}…` : line));
  const left = lines.length - shown.length;
  return [...shown, ...(left > 0 ? [`… ${left} more ${left === 1 ? 'line' : 'lines'}`] : [])].join(
    '\n',
  );
}

/**
 * Returns the further parts of a message that starts with the name of a command or a skill. Returns
 * none for other messages.
 */
export async function expandPrompt(
  extensions: Extensions,
  text: string,
  ofServers: readonly SlashPrompt[] = [],
): Promise<readonly string[]> {
  const [, name = '', argument = ''] = /^(\/\S+)\s*([\s\S]*)$/.exec(text.trim()) ?? [];
  const found = slashPrompts(extensions, ofServers).find((one) => one.name === name.toLowerCase());
  return found === undefined ? [] : [promptPart(found.name, await found.expand(argument.trim()))];
}
