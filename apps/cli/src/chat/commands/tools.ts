import type { SlashCommand } from './slash-command.ts';

export const tools: SlashCommand = {
  name: '/tools',
  description: 'What the model can do here',
  run({ built, print }) {
    const rows = built.tools.map(({ name, description }) => {
      const [first = ''] = description.split('\n');
      return [name, first] as const;
    });
    print({ type: 'rows', rows });
  },
};
