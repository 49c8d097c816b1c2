import type { SlashCommand } from './slash-command.ts';

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
export function helpCommand(all: () => readonly SlashCommand[]): SlashCommand {
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
