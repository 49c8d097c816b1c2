import type { JsonObject, ToolResultPart } from '@millrace/core';
import { attachmentBlock, textBlock } from './content-blocks.ts';

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
