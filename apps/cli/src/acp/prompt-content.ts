import { isAbsolute, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ContentBlock, RequestError } from '@agentclientprotocol/sdk';
import type { MediaPart, Part } from '@millrace/core';
import { isModeNote } from '../agent/session-mode.ts';
import { promptOfPart, startOfPrompt } from '../extensions/slash-prompts.ts';
import { attachedPart, attachmentOfPart } from '../input/attachments/attached-resource.ts';
import { maxPictures, readSentPicture } from '../input/attachments/sent-picture.ts';
import { mentionOf } from '../input/completion/file-completions.ts';

/** The content of a prompt, in the form that `Conversation.send` takes. */
export interface PromptContent {
  /** The text that the user wrote, with the names of attached files. */
  readonly text: string;
  /** The attached texts, for the model. */
  readonly texts: readonly string[];
  readonly pictures: readonly MediaPart[];
}

/**
 * Reads the content blocks of a prompt. A link becomes a mention such as `@src/index.ts`. Throws an
 * `invalid params` error for content that the agent does not accept.
 */
export function readPrompt(blocks: readonly ContentBlock[], cwd: string): PromptContent {
  const words: string[] = [];
  const texts: string[] = [];
  const pictures: MediaPart[] = [];
  for (const block of blocks)
    switch (block.type) {
      case 'text':
        words.push(block.text);
        break;
      case 'resource_link':
        words.push(` ${mention(block.uri, cwd)} `);
        break;
      case 'image':
        pictures.push(picture(block.data));
        break;
      case 'resource': {
        const { resource } = block;
        words.push(` ${mention(resource.uri, cwd)} `);
        if ('text' in resource) texts.push(attachedPart(resource));
        else pictures.push(picture(resource.blob));
        break;
      }
      case 'audio':
        throw RequestError.invalidParams(undefined, 'audio is not supported');
    }
  if (pictures.length > maxPictures)
    throw RequestError.invalidParams(
      undefined,
      `a prompt can have at most ${maxPictures} pictures`,
    );
  const text = words
    .reduce((all, word) => (/\s$/.test(all) ? all + word.replace(/^ /, '') : all + word), '')
    .trim();
  if (text === '' && texts.length === 0 && pictures.length === 0)
    throw RequestError.invalidParams(undefined, 'the prompt is empty');
  return { text, texts, pictures };
}

function picture(base64: string): MediaPart {
  const read = readSentPicture(base64);
  if ('problem' in read) throw RequestError.invalidParams(undefined, read.problem);
  return read.picture;
}

/** Returns the mention of a file, relative to the folder, or the URI of other resources. */
function mention(uri: string, cwd: string): string {
  const path = filePath(uri);
  if (path === undefined) return uri;
  const inside = relative(cwd, path);
  const isInside = inside !== '' && !inside.startsWith('..') && !isAbsolute(inside);
  return mentionOf(isInside ? inside : path);
}

function filePath(uri: string): string | undefined {
  if (!uri.startsWith('file://') || !URL.canParse(uri)) return undefined;
  try {
    return fileURLToPath(uri);
  } catch {
    return undefined;
  }
}

/**
 * Returns the content block of a part of a message. Returns undefined for parts that the user does not
 * see, for example notes about the mode.
 */
export function blockOfPart(part: Part): ContentBlock | undefined {
  if (part.kind === 'media') return pictureBlock(part);
  if (part.kind === 'file') return { type: 'text', text: `[${part.name}]` };
  if (part.kind !== 'text' || isModeNote(part.text)) return undefined;
  const prompt = promptOfPart(part.text);
  if (prompt !== undefined)
    return { type: 'text', text: `[text of ${prompt}]\n${startOfPrompt(part.text)}` };
  const attached = attachmentOfPart(part.text);
  return attached === undefined
    ? { type: 'text', text: part.text }
    : { type: 'resource', resource: attached };
}

function pictureBlock({ mimeType, source }: MediaPart): ContentBlock {
  if (source.type !== 'bytes') return { type: 'text', text: `[picture: ${mimeType}]` };
  return { type: 'image', mimeType, data: Buffer.from(source.bytes).toString('base64') };
}
