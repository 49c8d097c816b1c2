import { themeNames } from '../../contract/config.ts';
import { note } from '../contract/block.ts';
import type { CommandContext, SlashCommand } from './slash-command.ts';

export const theme: SlashCommand = {
  name: '/theme',
  argument: '[name]',
  description: 'Change the colours: auto, dark, light or none',
  choices: (context) => namesOf(context).map((value) => ({ value })),
  run(context, argument) {
    const { setTheme, pick, print } = context;
    const names = namesOf(context);
    const choose = (name: string | undefined) => {
      if (name === undefined || !setTheme(name))
        throw new Error('This terminal shows no colours: NO_COLOR is set, or TERM has none');
      const isBuiltIn = themeNames.some((one) => one === name);
      const way = isBuiltIn ? ' To keep it, set "theme" in your config.json.' : '';
      print(note('dim', `Theme: ${name}.${way}`));
    };
    if (argument === '')
      return pick({
        title: 'Which theme?',
        items: names.map((label) => ({ label })),
        onPick: async (index) => choose(names[index]),
      });
    const wanted = names.find((name) => name === argument.toLowerCase());
    if (wanted === undefined)
      throw new Error(`There is no theme ${argument}. Use one of ${names.join(', ')}`);
    choose(wanted);
  },
};

/** Returns the names of the built-in themes and of those of extensions. */
function namesOf({ built }: Pick<CommandContext, 'built'>): readonly string[] {
  const own = built.extensions.code?.themes.map(({ name }) => name) ?? [];
  return [...new Set([...themeNames, ...own])];
}

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
  actsOutside: true,
  description: 'Write the prompt in $VISUAL or $EDITOR; Ctrl-G does the same',
  run: ({ editPrompt }) => editPrompt(),
};
