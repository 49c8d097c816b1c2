import type { Item, ItemId, MediaPart } from '@millrace/core';
import { isModeNote, planNote, planOverNote } from '../../agent/session-mode.ts';
import type { BuiltAgent } from '../../contract/agent.ts';
import { expandPrompt } from '../../extensions/slash-prompts.ts';
import { readMentionedFiles } from '../../input/attachments/mentioned-files.ts';
import { picturePaths, readPictures } from '../../input/attachments/mentioned-pictures.ts';
import { userItem } from '../../store/session-summaries.ts';

/** The content of a message beside its text. */
export interface MessageContent {
  /** Further texts for the model, for example attached files. Default: none. */
  readonly texts?: readonly string[] | undefined;
  /** Default: none. */
  readonly pictures?: readonly MediaPart[] | undefined;
  /** The id of the message. Default: a new id. */
  readonly id?: ItemId | undefined;
}

interface MessageOptions {
  readonly cwd: string;
  /** The user's home folder, for paths that start with `~`. */
  readonly home?: string | undefined;
  /** Returns the output of commands that the user ran. */
  readonly takeOutputs: () => readonly string[];
  readonly built: () => Pick<BuiltAgent, 'mode' | 'extensions'> &
    Partial<Pick<BuiltAgent, 'servers' | 'runUnasked' | 'policy'>>;
  /** Returns true if the last message was sent in plan mode. */
  readonly isPlanning: () => boolean;
}

/**
 * Creates a message with its pictures and files, with the text of the custom command that it names, and with
 * the output of commands that the user ran.
 */
export async function messageItem(
  text: string,
  content: MessageContent,
  { cwd, home, takeOutputs, built, isPlanning }: MessageOptions,
): Promise<Item> {
  const { id } = content;
  // A message without pictures is sent without waiting, so that messages keep their order.
  const hasPictures = picturePaths(text).length > 0;
  const run = built().runUnasked;
  const isSlash = text.trimStart().startsWith('/');
  const further = isSlash
    ? await expandPrompt(built().extensions, text, built().servers?.prompts(), run)
    : [];
  // An editor attaches its files itself.
  const hasFiles = run !== undefined && text.includes('@') && content.texts === undefined;
  const files = hasFiles ? await readMentionedFiles(text, run) : [];
  const mentioned = hasPictures ? await readPictures(text, { cwd, home, policy: built().policy?.() }) : [];
  const pictures = [...mentioned, ...(content.pictures ?? [])];
  const attached = [
    ...new Set([...further, ...files]),
    ...[...(content.texts ?? []), ...takeOutputs()],
  ];
  // The first message after plan mode tells the model that plan mode is over.
  const planOver = isPlanning() ? [planOverNote] : [];
  const notes = built().mode() === 'plan' ? [planNote] : planOver;
  return userItem([text, ...attached, ...notes], {
    ...{ cwd, pictures },
    ...(id !== undefined && { ids: { item: () => id } }),
  });
}

/** Returns the text of a message without the note about plan mode. */
export function messageText({ parts }: Pick<Item, 'parts'>): string {
  return parts
    .flatMap((part) => (part.kind === 'text' && !isModeNote(part.text) ? part.text : []))
    .join('\n');
}
