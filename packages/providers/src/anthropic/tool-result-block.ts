import type { FilePart, JsonObject, MediaPart, ToolResultPart } from '@millrace/core';
import { mediaBlock, textBlock } from './content-blocks.ts';

export function toolResultBlock(part: ToolResultPart): JsonObject {
  const { toolCallId, isError, attachments = [] } = part;
  const seen = attachments.filter((attachment) => !isClippedText(attachment)).map(attachmentBlock);
  const text = part.text === '' && isError ? 'The tool failed and did not say why.' : part.text;
  const content = seen.length === 0 ? text : [...[textBlock(text) ?? []].flat(), ...seen];
  return {
    type: 'tool_result',
    tool_use_id: toolCallId,
    ...(content === '' ? {} : { content }),
    ...(isError ? { is_error: true } : {}),
  };
}

/** The whole of a text that the model was shown a part of. */
function isClippedText({ source, mimeType }: MediaPart | FilePart): boolean {
  return source.type === 'blob' && mimeType.startsWith('text/');
}

/** What a tool brings is not the user's fault: what cannot be shown is named. */
function attachmentBlock(attachment: MediaPart | FilePart): JsonObject {
  return mediaBlock(attachment) ?? { type: 'text', text: `[${attachment.mimeType}: not shown]` };
}
