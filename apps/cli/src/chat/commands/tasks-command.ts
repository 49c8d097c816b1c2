import type { BackgroundCommand } from '@millrace/tools';
import { oneLine, withoutStyles } from '../../text/cells/printable.ts';
import { note } from '../contract/block.ts';
import { formatDuration } from '../render/format-amounts.ts';
import type { CommandContext, SlashCommand } from './slash-command.ts';

/** Maximum length of a command line and of its last line of output. */
const maxShown = 100;

export const tasks: SlashCommand = {
  name: '/tasks',
  argument: '[stop <id>|all]',
  description: 'List the background commands of this session, or stop one',
  choices: (context) =>
    runningOf(context).map(({ id, command }) => ({
      ...{ value: `stop ${id}`, description: oneLine(command, maxShown) },
    })),
  async run(context, argument) {
    const [verb, id, ...others] = argument.split(/\s+/).filter(Boolean);
    if (verb === undefined) return listCommands(context);
    if (verb !== 'stop' || id === undefined || others.length > 0)
      throw new Error('Use /tasks, /tasks stop c1, or /tasks stop all');
    const running = runningOf(context);
    const chosen = id === 'all' ? running : running.filter((one) => one.id === id);
    if (chosen.length === 0)
      throw new Error(
        id === 'all' ? 'No command runs' : `No command ${id} runs. /tasks lists them`,
      );
    const { built, conversation, print } = context;
    for (const one of chosen) {
      await built.background?.stop(conversation.session, one.id);
      print(note('mark', `■ ${one.id} was stopped: ${oneLine(one.command, maxShown)}`));
    }
  },
};

function runningOf({ built, conversation }: CommandContext): readonly BackgroundCommand[] {
  const all = built.background?.list(conversation.session) ?? [];
  return all.filter(({ end }) => end === undefined);
}

function listCommands({ built, conversation, clock, print }: CommandContext): void {
  const known = built.background?.list(conversation.session) ?? [];
  const lost = conversation.commandEnds.lost;
  if (known.length + lost.length === 0)
    return print(note('dim', 'This session has no background commands.'));
  print({
    type: 'rows',
    rows: [
      ...lost.map(({ id, command }) => row(id, command, 'was lost when the program ended')),
      ...known.flatMap(({ id, command, end, startedAt, lastLine }) => {
        const state = end ?? `runs for ${formatDuration(clock.now() - startedAt)}`;
        const last =
          lastLine === '' ? [] : [['', `│ ${oneLine(withoutStyles(lastLine), maxShown)}`] as const];
        return [row(id, command, state), ...last];
      }),
    ],
  });
  if (known.some(({ end }) => end === undefined))
    print(note('dim', 'To stop one: /tasks stop <id>'));
}

function row(id: string, command: string, state: string): readonly [string, string] {
  return [id, `${oneLine(command, maxShown)}  (${state})`];
}
