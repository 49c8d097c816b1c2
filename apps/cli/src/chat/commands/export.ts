import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { transcript } from '@millrace/core';
import { exportSession, type Log, snapshot } from '@millrace/log';
import { transcriptMarkdown } from '../../sessions/transcript-markdown.ts';
import { shortIdLength } from '../../store/find-session.ts';
import type { Conversation } from '../session/conversation.ts';
import { note } from '../state/block.ts';
import type { SlashCommand } from './slash-command.ts';

export const exportCommand: SlashCommand = {
  name: '/export',
  argument: '[file]',
  description: 'Write the session to a file: .md for reading, .jsonl with every record',
  async run({ conversation, log, cwd, print }, argument) {
    if ((await log.info(conversation.session)) === undefined)
      return print(note('dim', 'Nothing was said yet.'));
    const name =
      argument === '' ? `millrace-${conversation.session.slice(0, shortIdLength)}.md` : argument;
    const path = resolve(cwd, name);
    const text = name.endsWith('.jsonl')
      ? await records(log, conversation)
      : await prose(log, conversation);
    // Nobody's file is written over by a name that was typed in a hurry.
    await writeFile(path, text, { flag: 'wx', mode: 0o600 });
    print(note('dim', `The session is in ${path}.`));
  },
};

async function records(log: Log, { session }: Conversation): Promise<string> {
  let text = '';
  for await (const line of exportSession(log, session))
    text += line.endsWith('\n') ? line : `${line}\n`;
  return text;
}

async function prose(log: Log, { session }: Conversation): Promise<string> {
  return transcriptMarkdown(transcript(await snapshot(log, session)));
}
