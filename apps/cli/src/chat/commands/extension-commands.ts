import { relative } from 'node:path';
import { isInside } from '../../config/config-paths.ts';
import type { BuiltAgent } from '../../contract/agent.ts';
import type { CodeCommand, SlashPrompt } from '../../contract/extensions.ts';
import { slashPrompts } from '../../extensions/slash-prompts.ts';
import { note, type Row } from '../contract/block.ts';
import type { CommandContext, SlashCommand } from './slash-command.ts';

/** Shows the hooks of the session. */
export const hooks: SlashCommand = {
  name: '/hooks',
  description: 'Show the hooks that run at events',
  run(context) {
    const { hooks: found } = context.built.extensions;
    if (found.length === 0) return context.print(note('plain', noHooks));
    const rows = found.map(({ event, matcher, condition, command, file, origin }): Row => {
      const on = [event, matcher, condition].filter((one) => one !== undefined).join(' ');
      return [on, `${command} (${origin}: ${shortPath(file, context)})`];
    });
    context.print({ type: 'rows', rows });
  },
};

/** Shows the extensions, skills, commands and sub-agents of the session. */
export const skills: SlashCommand = {
  name: '/skills',
  description: 'Show the extensions, skills, commands and sub-agents from files',
  run(context) {
    const { skills: found, commands, agents, modules } = context.built.extensions;
    const rows = [
      ...modules.map(({ name, path }): Row => [`extension ${name}`, shortPath(path, context)]),
      ...found.map(({ name, ...skill }) => row(`skill ${name}`, skill, context)),
      ...commands.map(({ name, ...command }) => row(`command /${name}`, command, context)),
      ...agents.map(({ name, ...agent }) => row(`sub-agent ${name}`, agent, context)),
    ];
    if (rows.length === 0) return context.print(note('plain', noSkills));
    context.print({ type: 'rows', rows });
  },
};

const noHooks =
  'There are no hooks. Add them to .millrace/hooks.json, .claude/settings.json or ~/.config/millrace/hooks.json.';
const noSkills =
  'There are no extensions, skills, commands or sub-agents from files. Add them to .millrace or .claude, or to ~/.config/millrace.';

const maxDescriptionLength = 120;

function row(
  name: string,
  { description, path }: { readonly description: string; readonly path: string },
  context: CommandContext,
): Row {
  const isShort = description.length <= maxDescriptionLength;
  const about = isShort
    ? description
    : `${description.slice(0, maxDescriptionLength).toWellFormed()}…`;
  return [name, `${about} (${shortPath(path, context)})`];
}

function shortPath(path: string, { cwd, env }: CommandContext): string {
  if (isInside(path, cwd)) return relative(cwd, path);
  const { HOME: home = '' } = env;
  return home !== '' && isInside(path, home) ? `~/${relative(home, path)}` : path;
}

/** Returns the slash commands of the user's and the project's files, and the prompts of MCP servers. */
export function extensionCommands({
  extensions,
  servers,
}: Pick<BuiltAgent, 'extensions' | 'servers'>): readonly SlashCommand[] {
  const fromCode = extensions.code?.commands ?? [];
  return [
    ...fromCode.map(codeCommand),
    ...slashPrompts(extensions, servers.prompts()).map(toCommand),
  ];
}

/** A command of an extension in TypeScript. It can show a text and send a message to the model. */
function codeCommand({ name, description, argument, key, run }: CodeCommand): SlashCommand {
  return {
    ...{ name: `/${name}`, argument, key, actsOutside: true },
    description: key === undefined ? description : `${description} (${key})`,
    async run({ print, conversation, setPrompt }, given) {
      const { print: text, send, prompt } = await run(given);
      if (text !== undefined) print(note('plain', text));
      if (prompt !== undefined) setPrompt(prompt);
      if (send !== undefined) await conversation.send(send);
    },
  };
}

function toCommand({ name, description, argument, aliasOf }: SlashPrompt): SlashCommand {
  return {
    ...{ name, description, argument, aliasOf, isMessage: true },
    run: ({ conversation }, given, chosen) =>
      conversation.send(`${name} ${given}`.trim(), { chosen }),
  };
}
