import type { JsonObject, Metadata } from '@millrace/core';
import type { Content, ContentOf } from '../contract/content.ts';

type TextHead = Pick<ContentOf<'text'>, 'format' | 'attachments'>;

/** What a message says of itself besides its content lives in its part's metadata, if it is not the default. */
export function headOf(content: Content): JsonObject {
  const style = content.style === 'static' ? {} : { style: content.style };
  if (content.type !== 'text') return style;
  const format = content.format === 'plain' ? {} : { format: content.format };
  const attachments = content.attachments === null ? {} : { attachments: content.attachments };
  return { ...style, ...format, ...attachments };
}

export function styleOf(metadata: Metadata | undefined): Content['style'] {
  return metadata?.['style'] === 'active' ? 'active' : 'static';
}

export function textHeadOf(metadata: Metadata | undefined): TextHead {
  const format = metadata?.['format'];
  return {
    format: format === 'markdown' || format === 'code' ? format : 'plain',
    attachments: attachmentsIn(metadata?.['attachments']),
  };
}

/** A provider's metadata may have the same name for something else. */
function attachmentsIn(value: unknown): TextHead['attachments'] {
  return Array.isArray(value) && value.every(isAttachment) ? value : null;
}

function isAttachment(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { file_id, name, type, size } = value as Readonly<Record<string, unknown>>;
  return [file_id, name, type].every((text) => typeof text === 'string') && Number.isInteger(size);
}
