import { note } from '../state/block.ts';
import type { SlashCommand } from './slash-command.ts';

export const compact: SlashCommand = {
  name: '/compact',
  description: 'Have what was said long ago summarised',
  async run({ conversation, log, print }) {
    if ((await log.info(conversation.session)) === undefined)
      return print(note('dim', 'Nothing was said yet.'));
    await conversation.compact();
  },
};
