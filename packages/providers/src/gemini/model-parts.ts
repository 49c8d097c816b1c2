import type { CustomPart, JsonObject, ToolCallId } from '@millrace/core';
import type { AssistantMessage, AssistantPart, SentCall } from '../history/message.ts';
import { wellFormedValue } from '../history/well-formed-value.ts';
import { isObject } from '../json/fields.ts';
import { attachmentPart, dataPart } from './attachments.ts';
import { partData } from './part-state.ts';
import { saidPart } from './said-part.ts';

export interface ModelPartsOptions {
  /** Does the model refuse calls that nobody signed? */
  readonly wantsSignatures: boolean;
  /** The id that a call is sent with; undefined for none. */
  readonly idOf: (call: ToolCallId) => string | undefined;
}

/** What it wants back of its own tools. A kind that nobody knows might be refused. */
const returned: ReadonlySet<string> = new Set([
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
]);

/** Google's own word for a call of another model's, which cannot have a signature. */
const unsigned = 'skip_thought_signature_validator';

/** What the model said, each part as it came. */
export function modelParts(
  { parts }: AssistantMessage,
  options: ModelPartsOptions,
): readonly JsonObject[] {
  // Of calls side by side only the first is signed.
  const first = options.wantsSignatures && parts.find(({ kind }) => kind === 'tool_call');
  return parts.flatMap((part) => {
    const sent = modelPart(part, options);
    return part === first ? sent.map((call) => ({ thoughtSignature: unsigned, ...call })) : sent;
  });
}

function modelPart(part: AssistantPart, options: ModelPartsOptions): readonly JsonObject[] {
  const { thoughtSignature, thought, parts } = partData(part);
  if (parts !== undefined) return parts;
  const kept = {
    ...(thought === undefined ? {} : { thought }),
    ...(thoughtSignature === undefined ? {} : { thoughtSignature }),
  };
  switch (part.kind) {
    case 'reasoning':
      return [{ text: part.text, thought: true, ...kept }];
    case 'tool_call':
      return [{ functionCall: functionCall(part, options), ...kept }];
    case 'custom':
      return hostedPart(part);
    case 'media':
    case 'file':
      // What it signed goes back as it came.
      return [
        thoughtSignature === undefined
          ? { ...attachmentPart(part), ...kept }
          : { ...dataPart(part), ...kept },
      ];
    default:
      return [{ ...saidPart(part), ...kept }];
  }
}

function hostedPart(part: CustomPart): readonly JsonObject[] {
  const { name, value } = part;
  if (!isObject(value) || !returned.has(name)) return [];
  const isSigned = partData(part).thoughtSignature !== undefined;
  return [isSigned ? value : wellFormedValue(value)];
}

function functionCall(call: SentCall, { idOf }: ModelPartsOptions): JsonObject {
  const id = idOf(call.toolCallId);
  return { name: call.name, args: call.input, ...(id === undefined ? {} : { id }) };
}
