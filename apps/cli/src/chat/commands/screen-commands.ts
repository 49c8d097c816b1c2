import { themeNames } from '../../contract/config.ts';
import { note } from '../contract/block.ts';
import type { SlashCommand } from './slash-command.ts';

export const theme: SlashCommand = {
  name: '/theme',
  argument: '[name]',
  description: 'Change the colours: auto, dark, light or none',
  choices: () => themeNames.map((value) => ({ value })),
  run({ setTheme, pick, print }, argument) {
    const choose = (name: (typeof themeNames)[number] | undefined) => {
      if (name === undefined || !setTheme(name))
        throw new Error('This terminal shows no colours: NO_COLOR is set, or TERM has none');
      print(note('dim', `Theme: ${name}. To keep it, set "theme" in your config.json.`));
    };
    if (argument === '')
      return pick({
        title: 'Which theme?',
        items: themeNames.map((label) => ({ label })),
        onPick: async (index) => choose(themeNames[index]),
      });
    const wanted = themeNames.find((name) => name === argument.toLowerCase());
    if (wanted === undefined)
      throw new Error(`There is no theme ${argument}. Use one of ${themeNames.join(', ')}`);
    choose(wanted);
  },
};

export const vim: SlashCommand = {
  name: '/vim',
  description: 'Turn the keys of vi in the prompt on or off',
  run({ vim: vimKeys, print }) {
    const text = vimKeys.toggle()
      ? 'The prompt has the keys of vi: Esc for the normal mode, i to insert, Enter sends.'
      : 'The prompt has its usual keys.';
    print(note('dim', text));
  },
};

export const editor: SlashCommand = {
  name: '/editor',
  description: 'Write the prompt in $VISUAL or $EDITOR; Ctrl-G does the same',
  run: ({ editPrompt }) => editPrompt(),
};
