import { nearestName } from '../../args/nearest-name.ts';
import { background, share } from '../../daemon/chat-commands.ts';
import { note } from '../contract/block.ts';
import { exportCommand } from './export-command.ts';
import { extensionCommands, hooks, skills } from './extension-commands.ts';
import { copy, search } from './find-commands.ts';
import { mcp } from './mcp-command.ts';
import { mode } from './mode-command.ts';
import { cost, model, thinking, tools } from './model-commands.ts';
import { permissions } from './permissions-command.ts';
import { label, redo, rewind, undo } from './rewind-commands.ts';
import { editor, theme, vim } from './screen-commands.ts';
import {
  compact,
  forkSession,
  listSessions,
  nameSession,
  newSession,
  replay,
  resumeSession,
  retry,
} from './session-commands.ts';
import type { CommandContext, SlashCommand } from './slash-command.ts';
import { tasks } from './tasks-command.ts';
import { tree } from './tree-command.ts';
import { diff, init, review } from './work-commands.ts';

const quit: SlashCommand = {
  name: '/quit',
  description: 'Leave the chat',
  run: ({ quit: leave }) => leave(),
};

/** `/exit` is an alias of `/quit`, because other programs use this name. */
const exit: SlashCommand = { ...quit, name: '/exit', description: 'Leave the chat, same as /quit' };

export const commandTable: readonly SlashCommand[] = [
  helpCommand(allCommands),
  mode,
  model,
  thinking,
  newSession,
  resumeSession,
  listSessions,
  forkSession,
  nameSession,
  label,
  compact,
  rewind,
  undo,
  redo,
  tree,
  diff,
  review,
  init,
  search,
  copy,
  editor,
  vim,
  theme,
  cost,
  tools,
  permissions,
  mcp,
  skills,
  hooks,
  retry,
  tasks,
  background,
  share,
  exportCommand,
  replay,
  quit,
  exit,
];

/** Returns the built-in commands and those of files. A built-in command has precedence. */
export function allCommands({ built }: Pick<CommandContext, 'built'>): readonly SlashCommand[] {
  const names = new Set(commandTable.map(({ name }) => name));
  const further = extensionCommands(built).filter(({ name }) => !names.has(name));
  // If a built-in command has the shorter name, only the full name remains.
  return [
    ...commandTable,
    ...further.map((one) => (names.has(one.aliasOf ?? '') ? { ...one, aliasOf: undefined } : one)),
  ];
}

/**
 * Returns true if a text is a slash command. Otherwise it is a message for the model. A command is
 * a slash and one word. A path has more slashes, so it is a message. If more words follow, the
 * first word must be similar to the name of a command, or have the form `/server:prompt`. The name
 * of a command from a file can have further characters.
 */
export function isCommand(text: string, commands: readonly SlashCommand[]): boolean {
  const typed = text.trim();
  if (findCommand(typed, commands) !== undefined) return true;
  const [word = ''] = typed.split(/\s/, 1);
  // A prompt of an MCP server, or a command of a plugin. It is misspelled, or its server is not connected yet.
  if (/^\/[a-z][\w-]*:[\w-]+$/i.test(word)) return true;
  const [, name = '', rest = ''] = /^(\/[a-z-]*)(?:\s+([\s\S]*))?$/i.exec(typed) ?? [];
  if (name === '') return false;
  return rest === '' || nearestCommand(name, commands) !== undefined;
}

/**
 * Commands of other coding agents, with the command of this chat for the same purpose. A user who types such a name
 * gets the own name as a suggestion.
 */
export const namesOfOtherAgents: ReadonlyMap<string, string> = new Map([
  ['/agents', '/skills'],
  ['/approvals', '/permissions'],
  ['/bashes', '/tasks'],
  ['/branch', '/fork'],
  ['/checkpoint', '/rewind'],
  ['/clear', '/new'],
  ['/context', '/cost'],
  ['/continue', '/resume'],
  ['/effort', '/thinking'],
  ['/hotkeys', '/help'],
  ['/memory', '/init'],
  ['/plan', '/mode plan'],
  ['/reasoning', '/thinking'],
  ['/rename', '/name'],
  ['/reset', '/new'],
  ['/session', '/sessions'],
  ['/stats', '/cost'],
  ['/status', '/cost'],
  ['/summarize', '/compact'],
  ['/usage', '/cost'],
]);

/** Returns true if a text is a command that acts outside of the conversation. */
export function actsOutside(text: string, commands: readonly SlashCommand[]): boolean {
  return findCommand(text, commands)?.actsOutside === true;
}

function findCommand(text: string, commands: readonly SlashCommand[]): SlashCommand | undefined {
  const [word = ''] = text.trim().split(/\s/, 1);
  return commands.find(({ name }) => name === word.toLowerCase());
}

function nearestCommand(name: string, commands: readonly SlashCommand[]): string | undefined {
  const names = commands.map((one) => one.name);
  return namesOfOtherAgents.get(name.toLowerCase()) ?? nearestName(name, names);
}

/** Runs a slash command. Errors are printed. */
export async function runSlashCommand(
  context: CommandContext,
  text: string,
  chosen: readonly string[] = [],
): Promise<void> {
  const [, name = '', argument = ''] = /^(\S+)\s*([\s\S]*)$/.exec(text.trim()) ?? [];
  const commands = allCommands(context);
  const found = findCommand(text, commands);
  if (found?.isMessage !== true) context.print({ type: 'command', text: text.trim() });
  if (found === undefined) return context.print(note('bad', unknownCommandText(name, commands)));
  if (found.onlyWhenIdle && context.conversation.isBusy)
    return context.print(
      note('bad', `✗ ${name} is not possible during a run. Stop the run with Esc first.`),
    );
  try {
    await found.run(context, argument.trim(), chosen);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    context.print(note('bad', `✗ ${message}`));
  }
}

function unknownCommandText(name: string, commands: readonly SlashCommand[]): string {
  const near = nearestCommand(name, commands);
  const way = near === undefined ? '/help lists all commands' : `did you mean ${near}?`;
  return `✗ Unknown command ${name}: ${way}`;
}

const keyHelp = [
  ['Enter', 'sends a message; during a run, steers the next step'],
  ['Alt-Enter', 'adds a line; during a run, queues the message'],
  ['Esc, Ctrl-C', 'stop the run; the answer so far is kept'],
  ['Esc Esc', 'while idle, in an empty prompt: goes back to a message'],
  ['Ctrl-C', 'while idle: clears the prompt; twice: leaves'],
  ['Ctrl-D', 'leaves, while idle with an empty prompt'],
  ['Ctrl-R', 'searches the earlier messages'],
  ['Ctrl-G', 'opens the prompt in your editor'],
  ['Ctrl-V', 'adds the picture in the clipboard'],
  ['Ctrl-T', 'shows or hides the full reasoning'],
  ['Shift-Tab', 'changes the mode: ask, accept edits, auto, plan'],
  ['Ctrl-Z', 'suspends to the shell; fg resumes'],
  ['PageUp', 'shows the earlier messages; Esc returns'],
  ['Ctrl-L', 'redraws the screen'],
  ['Up, Down', 'show earlier messages; Up withdraws a queued message'],
  ['@', 'mentions a file'],
  ['!', 'runs a command immediately, as in a shell'],
] as const;

/** Creates the /help command. `all` returns the table of commands, which also contains /help. */
function helpCommand(all: (context: CommandContext) => readonly SlashCommand[]): SlashCommand {
  return {
    name: '/help',
    description: 'Show commands and keys',
    run(context) {
      const listed = all(context).filter(({ aliasOf }) => aliasOf === undefined);
      const commands = listed.map(({ name, argument, description }) => {
        const typed = argument === undefined ? name : `${name} ${argument}`;
        return [typed, description] as const;
      });
      context.print({ type: 'rows', rows: [...commands, ['', ''], ...keyHelp] });
    },
  };
}
