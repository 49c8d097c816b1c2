import { note } from '../state/block.ts';
import type { SlashCommand } from './slash-command.ts';

const defaultSpeed = 4;

export const replay: SlashCommand = {
  name: '/replay',
  argument: '[speed]',
  description: 'Stream this session once more, as it was, so many times as fast',
  whenIdle: true,
  async run(context, argument) {
    const speed = argument === '' ? defaultSpeed : Number(argument);
    if (!(speed > 0))
      return context.print(
        note('bad', `✗ /replay takes a number above 0, and ${argument} is none.`),
      );
    if ((await context.log.info(context.conversation.session)) === undefined)
      return context.print(note('dim', 'Nothing was said yet.'));
    context.replay(speed);
  },
};
