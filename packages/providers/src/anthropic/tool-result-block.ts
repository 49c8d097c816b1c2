import type { FilePart, JsonObject, MediaPart, ToolResultPart } from '@millrace/core';
import { mediaBlock, textBlock } from './content-blocks.ts';

export function toolResultBlock(part: ToolResultPart): JsonObject {
  const { toolCallId, isError, attachments = [] } = part;
  const seen = attachments.map(attachmentBlock);
  const text = part.text === '' && isError ? 'The tool failed and did not say why.' : part.text;
  const content = seen.length === 0 ? text : [...[textBlock(text) ?? []].flat(), ...seen];
  return {
    type: 'tool_result',
    tool_use_id: toolCallId,
    ...(content === '' ? {} : { content }),
    ...(isError ? { is_error: true } : {}),
  };
}

/** What a tool brings is not the user's fault: what cannot be shown is named. */
function attachmentBlock(attachment: MediaPart | FilePart): JsonObject {
  const block = isShowable(attachment) ? mediaBlock(attachment) : undefined;
  return block ?? { type: 'text', text: `[${attachment.mimeType}: not shown]` };
}

/** Loaded, or at an address from which the API takes it; and of the pictures only some. */
function isShowable({ source, mimeType }: MediaPart | FilePart): boolean {
  const isPicture = /^image\/(?:jpe?g|png|gif|webp)$/.test(mimeType);
  if (source.type === 'url') return isPicture || mimeType === 'application/pdf';
  return source.type === 'bytes' && (isPicture || !mimeType.startsWith('image/'));
}
