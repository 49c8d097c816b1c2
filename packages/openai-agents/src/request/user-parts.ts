import type { Part } from '@millrace/core';
import type { protocol } from '@openai/agents';
import { elsewhere, sourceOf } from './source-of.ts';

type UserContent = Exclude<protocol.UserMessageItem['content'], string>[number];

/** What somebody said, or a tool gave, as parts. */
export function userParts(content: string | readonly UserContent[]): readonly Part[] {
  if (typeof content === 'string') return [{ kind: 'text', text: content }];
  return content.flatMap((one) => userPart(one) ?? []);
}

function userPart(content: UserContent): Part | undefined {
  switch (content.type) {
    case 'input_text':
      return { kind: 'text', text: content.text };
    case 'input_image':
      if (content.image === undefined) return undefined;
      if (typeof content.image !== 'string') throw elsewhere('a picture');
      return { kind: 'media', ...sourceOf(content.image, 'image/png') };
    case 'input_file':
      return filePart(content);
    case 'audio':
      if (typeof content.audio !== 'string') throw elsewhere('a recording');
      return { kind: 'media', ...sourceOf(content.audio, `audio/${content.format ?? 'wav'}`) };
  }
}

function filePart({ file, filename = 'file' }: UserContent & { type: 'input_file' }) {
  if (file === undefined) return undefined;
  const given = typeof file === 'string' ? file : 'url' in file ? file.url : undefined;
  if (given === undefined) throw elsewhere('a file');
  const mimeType = /\.pdf$/i.test(filename) ? 'application/pdf' : 'application/octet-stream';
  return { kind: 'file', name: filename, ...sourceOf(given, mimeType) } as const;
}
