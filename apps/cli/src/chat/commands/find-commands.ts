import { type Item, transcript } from '@millrace/core';
import { snapshot } from '@millrace/log';
import { note, type Row } from '../contract/block.ts';
import { formatCount } from '../render/format-amounts.ts';
import type { CommandContext, SlashCommand } from './slash-command.ts';

/** Maximum number of places that /search shows, newest first. */
const maxPlaces = 20;
/** Number of characters before and after a match. */
const around = 60;

export const search: SlashCommand = {
  name: '/search',
  argument: '<text>',
  description: 'Find a text in this session',
  async run(context, argument) {
    const { print } = context;
    if (argument === '') throw new Error('/search needs a text: /search timeout');
    const wanted = argument.toLowerCase();
    const places = (await itemsOf(context)).flatMap((item) => placesIn(item, wanted));
    if (places.length === 0) return print(note('dim', `“${argument}” is not in this session.`));
    const rows = places.slice(-maxPlaces);
    const hidden = places.length - rows.length;
    if (hidden > 0) print(note('dim', `… ${formatCount(hidden, 'earlier place')}`));
    print({ type: 'rows', rows });
  },
};

function placesIn({ kind, parts }: Item, wanted: string): readonly Row[] {
  return parts.flatMap((part): readonly Row[] => {
    const text = part.kind === 'tool_call' ? `${part.name} ${part.arguments}` : textIn(part);
    const at = text.toLowerCase().indexOf(wanted);
    if (at === -1) return [];
    const start = Math.max(0, at - around);
    const end = Math.min(text.length, at + wanted.length + around);
    const excerpt = text.slice(start, end).replace(/\s+/g, ' ').toWellFormed();
    const who = part.kind === 'tool_result' ? part.name : (authors[kind] ?? kind);
    return [[who ?? kind, `${start > 0 ? '…' : ''}${excerpt}${end < text.length ? '…' : ''}`]];
  });
}

const authors: Partial<Record<Item['kind'], string>> = { user: 'you', assistant: 'agent' };

function textIn(part: Item['parts'][number]): string {
  return 'text' in part && typeof part.text === 'string' ? part.text : '';
}

export const copy: SlashCommand = {
  name: '/copy',
  actsOutside: true,
  description: 'Copy the last answer to the clipboard of your terminal',
  async run(context) {
    const answers = (await itemsOf(context)).filter(({ kind }) => kind === 'assistant');
    const text = answers
      .map(({ parts }) =>
        parts.flatMap((part) => (part.kind === 'text' ? part.text : [])).join('\n'),
      )
      .findLast((answer) => answer.trim() !== '');
    if (text === undefined) return context.print(note('dim', 'There is no answer to copy yet.'));
    context.copy(text);
    context.print(
      note(
        'dim',
        `${formatCount(text.length, 'character')} sent to the clipboard. Some terminals do not allow this (OSC 52).`,
      ),
    );
  },
};

async function itemsOf({ log, conversation }: CommandContext): Promise<readonly Item[]> {
  if ((await log.info(conversation.session)) === undefined) return [];
  return transcript(await snapshot(log, conversation.session));
}
