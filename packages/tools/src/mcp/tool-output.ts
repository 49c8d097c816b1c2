import type { ToolOutput } from '@millrace/agent';
import { checkJson, type JsonValue } from '@millrace/core';
import type { CallResult } from './call-result.ts';
import { clip } from './clip.ts';
import { ContentReader } from './content-reader.ts';

const maxTextLength = 4 * 2 ** 20;
const valueLimits = { maxDepth: 64, maxTextLength: 2 ** 20 };

/** A result of the protocol as one of ours: texts in their order, pictures and files beside them. */
export function toolOutput(result: CallResult, maxAttachmentBytes: number): ToolOutput {
  const reader = new ContentReader(maxAttachmentBytes);
  const lines = result.content.map((block) => reader.read(block));
  const { value, told } = readValue(result.structuredContent, lines.length === 0);
  const text = clip([...lines, ...told].join('\n'), maxTextLength);
  const isError = result.isError === true;
  return {
    output: {
      text: text === '' && isError ? 'The tool failed and did not say why.' : text,
      ...(value === undefined ? {} : { value }),
      ...(reader.attachments.length === 0 ? {} : { attachments: reader.attachments }),
      isError,
    },
  };
}

/** The value, and what the model is to read of it: all, where there is nothing else to read. */
function readValue(
  given: unknown,
  isAlone: boolean,
): { readonly value?: JsonValue; readonly told: readonly string[] } {
  if (given === undefined) return { told: [] };
  const problem = checkJson(given, valueLimits);
  if (problem !== undefined) return { told: [`[structured result left out: ${problem.why}]`] };
  return { value: given as JsonValue, told: isAlone ? [JSON.stringify(given)] : [] };
}
