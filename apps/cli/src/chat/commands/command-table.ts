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

/** What other programs call it. */
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
 * A slash and a word: what is meant for us, and not for the model. A path has more slashes, and a
 * sentence that begins with one is none of our commands, nor nearly.
 */
export function isCommand(text: string): boolean {
  const [, name = '', rest = ''] = /^(\/[a-z-]*)(?:\s+([\s\S]*))?$/i.exec(text.trim()) ?? [];
  if (name === '') return false;
  const isKnown = commandTable.some((one) => one.name === name.toLowerCase());
  return isKnown || rest === '' || nearest(name) !== undefined;
}

function nearest(name: string): string | undefined {
  return nearestName(
    name,
    commandTable.map((one) => one.name),
  );
}

/** Does what was typed. Whatever goes wrong is told, and nothing else happens. */
export async function runSlashCommand(context: CommandContext, text: string): Promise<void> {
  const [, name = '', argument = ''] = /^(\S+)\s*([\s\S]*)$/.exec(text.trim()) ?? [];
  const found = commandTable.find((one) => one.name === name.toLowerCase());
  context.print({ type: 'typed', text: text.trim() });
  if (found === undefined) return context.print(note('bad', unknown(name)));
  if (found.whenIdle && context.conversation.isBusy)
    return context.print(note('bad', `✗ ${name} has to wait: stop what goes on with Esc first.`));
  try {
    await found.run(context, argument.trim());
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    context.print(note('bad', `✗ ${message}`));
  }
}

function unknown(name: string): string {
  const near = nearest(name);
  const way = near === undefined ? '/help lists them all' : `did you mean ${near}?`;
  return `✗ There is no ${name}: ${way}`;
}

const keys = [
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

/** Made of the table that it is in. */
function helpCommand(all: () => readonly SlashCommand[]): SlashCommand {
  return {
    name: '/help',
    description: 'What can be said and pressed here',
    run({ print }) {
      const commands = all().map(({ name, argument, description }) => {
        const typed = argument === undefined ? name : `${name} ${argument}`;
        return [typed, description] as const;
      });
      print({ type: 'rows', rows: [...commands, ['', ''], ...keys] });
    },
  };
}
