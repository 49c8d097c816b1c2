import { modeTexts } from '../../agent/session-mode.ts';
import { note } from '../contract/block.ts';
import type { CommandContext, SlashCommand } from './slash-command.ts';

export const mode: SlashCommand = {
  name: '/mode',
  actsOutside: true,
  argument: '[name]',
  description: 'Show or change the mode; Shift-Tab changes it too',
  choices: ({ built }) =>
    built.modes.map((value) => ({ value, description: modeTexts[value].about })),
  run(context, argument) {
    if (argument === '') return showModes(context);
    const { built, print, setMode } = context;
    const wanted = built.modes.find((one) => one === argument.toLowerCase());
    if (wanted === undefined)
      throw new Error(`There is no mode ${argument} here. Use one of ${built.modes.join(', ')}`);
    setMode(wanted);
    print(note('plain', modeTexts[wanted].about));
  },
};

function showModes({ built, print }: CommandContext): void {
  const current = built.mode();
  const rows = built.modes.map((one) => {
    const mark = one === current ? '›' : ' ';
    return [`${mark} ${one}`, modeTexts[one].about] as const;
  });
  print({ type: 'rows', rows });
}
