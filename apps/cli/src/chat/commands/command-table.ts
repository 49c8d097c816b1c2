import { nearestName } from '../../args/nearest-name.ts';
import { note } from '../state/block.ts';
import { compact } from './compact.ts';
import { cost } from './cost.ts';
import { exportCommand } from './export.ts';
import { helpCommand } from './help.ts';
import { model } from './model.ts';
import { permissions } from './permissions.ts';
import { replay } from './replay.ts';
import { forkSession, listSessions, newSession, resumeSession } from './sessions.ts';
import type { CommandContext, SlashCommand } from './slash-command.ts';
import { tools } from './tools.ts';

const quit: SlashCommand = {
  name: '/quit',
  description: 'Leave',
  run: ({ quit: leave }) => leave(),
};

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
  exportCommand,
  replay,
  quit,
];

/** A slash and a word: what is meant for us, and not for the model. A path has more slashes. */
export function isCommand(text: string): boolean {
  return /^\/[a-z-]*(\s|$)/i.test(text);
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
  const nearest = nearestName(
    name,
    commandTable.map((one) => one.name),
  );
  const way = nearest === undefined ? '/help lists them all' : `did you mean ${nearest}?`;
  return `✗ There is no ${name}: ${way}`;
}
