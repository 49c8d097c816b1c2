import { count, money } from '../render/amounts.ts';
import { note } from '../state/block.ts';
import { totalOf } from '../state/numbers.ts';
import type { SlashCommand } from './slash-command.ts';

export const cost: SlashCommand = {
  name: '/cost',
  description: 'What this session has used',
  run({ conversation, print }) {
    const { input, output, cacheRead, cacheWrite, reasoning, costs, estimated } = totalOf(
      conversation.state.numbers,
    );
    const lines = [
      `${count(input, 'token')} in, of which ${count(cacheRead, 'token')} from a cache and ${count(cacheWrite, 'token')} into one`,
      `${count(output, 'token')} out, of which ${count(reasoning, 'token')} of reasoning`,
      costs.length === 0 ? 'The provider tells no price' : `${money(costs)} in all`,
    ];
    print(note('plain', [...lines, ...(estimated ? ['Some of it is estimated'] : [])].join('\n')));
  },
};
