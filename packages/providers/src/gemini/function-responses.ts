import type { JsonObject, ToolCallId, ToolResultPart } from '@millrace/core';
import type { Attachment } from '../history/content-of.ts';
import type { ToolMessage } from '../history/message.ts';
import { attachmentPart, dataPart } from './attachments.ts';

export interface FunctionResponsesOptions {
  /** May pictures and documents be inside of a result? Else they follow it. */
  readonly nestsMedia: boolean;
  readonly idOf: (call: ToolCallId) => string | undefined;
}

/** The results of the calls before, then what could not be put inside of them. */
export function functionResponses(
  { results }: ToolMessage,
  options: FunctionResponsesOptions,
): readonly JsonObject[] {
  const isNested = (part: Attachment) => options.nestsMedia && canNest(part);
  const following = results.flatMap(({ attachments = [] }) =>
    attachments.filter((part) => !isNested(part)).map(attachmentPart),
  );
  const responses = results.map((result) => {
    const parts = (result.attachments ?? []).filter(isNested).map(dataPart);
    const id = options.idOf(result.toolCallId);
    return {
      functionResponse: {
        name: result.name,
        response: responseOf(result),
        ...(id === undefined ? {} : { id }),
        ...(parts.length === 0 ? {} : { parts }),
      },
    };
  });
  return [...responses, ...following];
}

function responseOf({ text, isError }: ToolResultPart): JsonObject {
  return isError ? { error: text } : { output: text };
}

const nestedTypes = new Set([
  'image/png',
  'image/jpeg',
  'image/webp',
  'application/pdf',
  'text/plain',
]);

/** Only bytes of a few types are taken there. */
function canNest({ mimeType, source }: Attachment): boolean {
  return source.type === 'bytes' && source.bytes.length > 0 && nestedTypes.has(mimeType);
}
