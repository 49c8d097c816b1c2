import type { SlashCommand } from './slash-command.ts';

const keys = [
  ['Enter', 'sends; while it works, joins its next step'],
  ['Alt-Enter', 'a new line; while it works, is done when it would end'],
  ['Esc, Ctrl-C', 'stop what goes on, and keep what was said'],
  ['Ctrl-C, Ctrl-D', 'leave, when nothing goes on'],
  ['Ctrl-R', 'show what the model thinks in full, or fold it again'],
  ['Ctrl-Z', 'to the shell; fg comes back'],
  ['Up, Down', 'what was said before'],
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
