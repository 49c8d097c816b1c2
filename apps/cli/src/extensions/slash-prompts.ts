import type { RunUnasked } from '../contract/agent.ts';
import type { Extensions, SlashPrompt } from '../contract/extensions.ts';
import { readMentionedFiles } from '../input/attachments/mentioned-files.ts';
import { expandCommand } from './custom-commands.ts';
import { skillText } from './skills.ts';

/** Returns the commands and skills that the user can start. A command hides a skill of its name. */
export function slashPrompts(
  { commands, skills }: Extensions,
  /** The prompts of MCP servers. Default: none. */
  ofServers: readonly SlashPrompt[] = [],
  /** Runs the shell blocks of commands. Default: the model runs them. */
  run?: RunUnasked,
): readonly SlashPrompt[] {
  const all = [
    ...commands.map((command): OwnPrompt => {
      const { name, description, argumentHint: argument, plugin } = command;
      const expand = (given: string) => expandCommand(command, given, run);
      return { name: `/${name}`, description, argument, plugin, expand, isCommand: true };
    }),
    ...skills
      .filter(({ isForUser }) => isForUser)
      .map((skill): OwnPrompt => {
        const { name, description, plugin } = skill;
        const expand = (given: string) => skillText(skill, given);
        const own = `/${name.toLowerCase()}`;
        return { name: own, description, argument: '[request]', plugin, expand };
      }),
    ...ofServers,
  ];
  const first = new Map<string, SlashPrompt>();
  for (const one of all) if (!first.has(one.name)) first.set(one.name, withoutPlugin(one));
  for (const one of all) {
    const full = fullName(one);
    if (full !== undefined && !first.has(full))
      first.set(full, { ...withoutPlugin(one), name: full, aliasOf: one.name });
  }
  return [...first.values()];
}

/** Returns true if lists show a command. They do not show a second, longer name. */
export function isListed({ aliasOf }: Pick<SlashPrompt, 'aliasOf'>): boolean {
  return aliasOf === undefined;
}

/** A command or a skill, with the name of its plugin. */
interface OwnPrompt extends SlashPrompt {
  readonly plugin?: string | undefined;
  /** True for a command from a file. */
  readonly isCommand?: boolean | undefined;
}

/** Returns the name of a command with the name of its plugin: `/orders:status`. */
function fullName({ name, plugin }: OwnPrompt): string | undefined {
  if (plugin === undefined || name.startsWith(`/${plugin}:`)) return undefined;
  return `/${plugin}:${name.slice(1)}`;
}

function withoutPlugin({ plugin: _, ...prompt }: OwnPrompt): SlashPrompt {
  return prompt;
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
  return startOfText(body, maxShownLines);
}

/**
 * Returns the first lines of a text that the screen shows by its name, and the number of further lines. Default: 2
 * lines.
 */
export function startOfText(text: string, maxLines = 2): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const shown = lines
    .slice(0, maxLines)
    .map((line) => (line.length > maxShownLength ? `${line.slice(0, maxShownLength)}…` : line));
  const left = lines.length - shown.length;
  return [...shown, ...(left > 0 ? [`… ${left} more ${left === 1 ? 'line' : 'lines'}`] : [])].join(
    '\n',
  );
}

/**
 * Returns the further parts of a message that starts with the name of a command or a skill. Returns
 * none for other messages. With `run`, shell blocks of a command run if the rules allow them without a
 * question, and files that a command mentions are attached.
 */
export async function expandPrompt(
  extensions: Extensions,
  text: string,
  ofServers: readonly SlashPrompt[] = [],
  run?: RunUnasked,
): Promise<readonly string[]> {
  const [, name = '', argument = ''] = /^(\/\S+)\s*([\s\S]*)$/.exec(text.trim()) ?? [];
  const prompts: readonly OwnPrompt[] = slashPrompts(extensions, ofServers, run);
  const found = prompts.find((one) => one.name === name.toLowerCase());
  if (found === undefined) return [];
  const expanded = await found.expand(argument.trim());
  const hasFiles = run !== undefined && found.isCommand === true;
  const files = hasFiles ? await readMentionedFiles(expanded, run) : [];
  return [promptPart(found.name, expanded), ...files];
}
