import { nearestName } from '../../args/nearest-name.ts';
import { note } from '../contract/block.ts';
import { exportCommand } from './export-command.ts';
import { cost, model, tools } from './model-commands.ts';
import { permissions } from './permissions-command.ts';
import { redo, rewind, undo } from './rewind-commands.ts';
import {
  compact,
  forkSession,
  listSessions,
  newSession,
  replay,
  resumeSession,
  retry,
} from './session-commands.ts';
import type { CommandContext, SlashCommand } from './slash-command.ts';

const quit: SlashCommand = {
  name: '/quit',
  description: 'Leave the chat',
  run: ({ quit: leave }) => leave(),
};

/** `/exit` does the same as `/quit`, because other programs use that name. */
const exit: SlashCommand = { ...quit, name: '/exit', description: 'Leave the chat, same as /quit' };

export const commandTable: readonly SlashCommand[] = [
  helpCommand(() => commandTable),
  model,
  newSession,
  resumeSession,
  listSessions,
  forkSession,
  compact,
  rewind,
  undo,
  redo,
  cost,
  tools,
  permissions,
  retry,
  exportCommand,
  replay,
  quit,
  exit,
];

/**
 * Returns true if a text is a slash command, and not a message for the model. A command is a slash
 * and one word; a path has more slashes. A sentence that starts with a slash is a command only if
 * its first word is similar to the name of one.
 */
export function isCommand(text: string): boolean {
  const [, name = '', rest = ''] = /^(\/[a-z-]*)(?:\s+([\s\S]*))?$/i.exec(text.trim()) ?? [];
  if (name === '') return false;
  const isKnown = commandTable.some((one) => one.name === name.toLowerCase());
  return isKnown || rest === '' || nearestCommand(name) !== undefined;
}

function nearestCommand(name: string): string | undefined {
  return nearestName(
    name,
    commandTable.map((one) => one.name),
  );
}

/** Runs a slash command. Errors are printed. */
export async function runSlashCommand(context: CommandContext, text: string): Promise<void> {
  const [, name = '', argument = ''] = /^(\S+)\s*([\s\S]*)$/.exec(text.trim()) ?? [];
  const found = commandTable.find((one) => one.name === name.toLowerCase());
  context.print({ type: 'command', text: text.trim() });
  if (found === undefined) return context.print(note('bad', unknownCommandText(name)));
  if (found.onlyWhenIdle && context.conversation.isBusy)
    return context.print(
      note('bad', `✗ ${name} is not possible during a run. Stop the run with Esc first.`),
    );
  try {
    await found.run(context, argument.trim());
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    context.print(note('bad', `✗ ${message}`));
  }
}

function unknownCommandText(name: string): string {
  const near = nearestCommand(name);
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
  ['Ctrl-R', 'shows or hides the full reasoning'],
  ['Ctrl-Z', 'suspends to the shell; fg resumes'],
  ['Ctrl-L', 'redraws the screen'],
  ['Up, Down', 'show earlier messages; Up withdraws a queued message'],
  ['@', 'mentions a file'],
] as const;

/** Creates the /help command. `all` returns the table of commands, which also contains /help. */
function helpCommand(all: () => readonly SlashCommand[]): SlashCommand {
  return {
    name: '/help',
    description: 'Show commands and keys',
    run({ print }) {
      const commands = all().map(({ name, argument, description }) => {
        const typed = argument === undefined ? name : `${name} ${argument}`;
        return [typed, description] as const;
      });
      print({ type: 'rows', rows: [...commands, ['', ''], ...keyHelp] });
    },
  };
}
