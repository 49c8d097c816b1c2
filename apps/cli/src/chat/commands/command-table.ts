import { nearestName } from '../../args/nearest-name.ts';
import { note } from '../contract/block.ts';
import { exportCommand } from './export-command.ts';
import { cost, model, tools } from './model-commands.ts';
import { permissions } from './permissions-command.ts';
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
  description: 'Leave',
  run: ({ quit: leave }) => leave(),
};

/** The name that other programs use. */
const exit: SlashCommand = { ...quit, name: '/exit', description: 'Leave, as /quit does' };

export const commandTable: readonly SlashCommand[] = [
  helpCommand(() => commandTable),
  model,
  newSession,
  resumeSession,
  listSessions,
  forkSession,
  compact,
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
 * Whether a text is a slash command and not a message for the model: a slash and one word. A path
 * has more slashes. A sentence that starts with a slash is a command only if its first word is
 * close to one.
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
    return context.print(note('bad', `✗ ${name} has to wait: stop what goes on with Esc first.`));
  try {
    await found.run(context, argument.trim());
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    context.print(note('bad', `✗ ${message}`));
  }
}

function unknownCommandText(name: string): string {
  const near = nearestCommand(name);
  const way = near === undefined ? '/help lists them all' : `did you mean ${near}?`;
  return `✗ There is no ${name}: ${way}`;
}

const keyHelp = [
  ['Enter', 'sends; while it works, joins its next step'],
  ['Alt-Enter', 'a new line; while it works, is done when it would end'],
  ['Esc, Ctrl-C', 'stop what goes on, and keep what was said'],
  ['Ctrl-C', 'when nothing goes on: clears what is typed; twice, leaves'],
  ['Ctrl-D', 'leaves, when nothing goes on and nothing is typed'],
  ['Ctrl-R', 'show what the model thinks in full, or fold it again'],
  ['Ctrl-Z', 'to the shell; fg comes back'],
  ['Ctrl-L', 'draws the screen anew'],
  ['Up, Down', 'what was said before; Up takes back what is not heard yet'],
  ['@', 'names a file'],
] as const;

/** Builds /help from the table that contains it. */
function helpCommand(all: () => readonly SlashCommand[]): SlashCommand {
  return {
    name: '/help',
    description: 'What can be said and pressed here',
    run({ print }) {
      const commands = all().map(({ name, argument, description }) => {
        const typed = argument === undefined ? name : `${name} ${argument}`;
        return [typed, description] as const;
      });
      print({ type: 'rows', rows: [...commands, ['', ''], ...keyHelp] });
    },
  };
}
