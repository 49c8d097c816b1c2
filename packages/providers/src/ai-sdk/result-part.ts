import type {
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider';
import type { ToolResultPart } from '@millrace/core';
import { attachmentPart } from './file-part.ts';

/** The result of a call that the client ran. */
export function resultPart(result: ToolResultPart): LanguageModelV4ToolResultPart {
  const { toolCallId, name } = result;
  return { type: 'tool-result', toolCallId, toolName: name, output: outputOf(result) };
}

function outputOf({
  text,
  isError,
  attachments = [],
}: ToolResultPart): LanguageModelV4ToolResultOutput {
  if (attachments.length === 0) {
    // Some providers refuse a text that is empty.
    return { type: isError ? 'error-text' : 'text', value: text === '' ? '(no output)' : text };
  }
  // This form has no word for failure, so the text says it.
  const said = isError ? `Error: ${text}` : text;
  const told = said === '' ? [] : [{ type: 'text', text: said } as const];
  return { type: 'content', value: [...told, ...attachments.map(attachmentPart)] };
}
