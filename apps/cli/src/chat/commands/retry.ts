import type { SlashCommand } from './slash-command.ts';

export const retry: SlashCommand = {
  name: '/retry',
  description: 'Try again what failed, without saying it again; Enter alone does the same',
  whenIdle: true,
  run({ conversation }) {
    if (!conversation.retry()) throw new Error('There is nothing that failed. Say what you want');
  },
};
