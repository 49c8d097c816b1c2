import type { Stop } from '@millrace/core';
import { type NoteBlock, note } from '../contract/block.ts';
import type { ChatState, EventOf } from '../contract/chat-state.ts';
import type { Entry } from '../contract/entry.ts';

/** More than anybody reads of an error. */
const longest = 600;

/** What went wrong, in words. What a server says may be a page of HTML: of that the text, in one line. */
export function errorWords(message: string): string {
  const isPage = /<(?:!doctype|html|head|body|title|h1|p|div)\b[^>]*>/i.test(message);
  const words = isPage
    ? message
        .replaceAll(/<(script|style)\b[^>]*>[\s\S]*?<\/\1>/gi, ' ')
        .replaceAll(/<[^>]*>/g, ' ')
        .replaceAll(/\s+/g, ' ')
        .trim()
    : message;
  return words.length > longest ? `${words.slice(0, longest)}…` : words;
}

/** A model that has nothing to say would leave one wondering. */
export function emptyEnd(
  { printed, entries, isAside }: ChatState,
  { turn, stop }: EventOf<'turn_finished'>,
): NoteBlock | undefined {
  const isSomething = (entry: Entry) =>
    entry.at.turn === turn && !('text' in entry && entry.text.trim() === '');
  const isEmpty = stop.reason === 'stop' && printed.size === 0 && !entries.some(isSomething);
  return isEmpty && !isAside ? note('dim', '(the model said nothing)') : undefined;
}

/** An end that is not the usual one, in words. */
export function endOf({ reason, cause }: Stop): NoteBlock | undefined {
  switch (reason) {
    case 'stop':
    case 'tool_use':
    case 'pause':
      return undefined;
    case 'aborted':
      return cause === 'interrupted'
        ? note('mark', '■ cut short: the program that ran this ended')
        : note('mark', '■ stopped');
    case 'length':
      return note('mark', '■ cut off: the answer is as long as the model allows');
    case 'content_filter':
      return note('mark', '■ cut off by the provider’s content filter');
    case 'refusal':
      return note('mark', '■ the model refused');
    case 'limit':
      return note('mark', `■ stopped at a limit${because(cause)}`);
    case 'parked':
      return note('mark', `■ waits${because(cause)}`);
    case 'error':
      return note('bad', `✗ it ended with an error${because(cause)}`);
    case 'unknown':
      return note('mark', `■ ended${because(cause)}`);
  }
}

export function because(reason: string | undefined): string {
  return reason === undefined ? '' : `: ${reason}`;
}

/** What went wrong with a request, in words for people. */
const words: ReadonlyMap<string, string> = new Map([
  ['network', 'the provider could not be reached'],
  ['overloaded', 'the provider has too much to do'],
  ['rate_limit', 'the provider asks to slow down'],
  ['server', 'the provider had an error'],
  ['timeout', 'the provider took too long'],
  ['truncated_stream', 'the answer broke off'],
  ['protocol_error', 'the answer could not be read'],
  ['history_rejected', 'the provider did not take what was thought before'],
  ['interrupted', 'the program that ran this ended'],
]);

export function problemWords(code: string): string {
  return words.get(code) ?? code;
}
