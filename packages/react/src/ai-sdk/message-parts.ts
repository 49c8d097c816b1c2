import {
  type FilePart,
  isId,
  type JsonValue,
  type MediaPart,
  type Metadata,
  type Part,
  type ToolResultPart,
  toolCallId,
} from '@millrace/core';
import type { CallFacts } from '../chat/state/fact-index.ts';
import { type ChatPart, field, textField } from './chat-helpers.ts';

/** The result of the conversion of one part of an AI SDK message. */
export interface ConvertedPart {
  readonly part: Part;
  /** True while the part streams. */
  readonly isOpen: boolean;
  readonly call?: ConvertedCall | undefined;
}

/** A tool call: its result, its state, and the question whether it may run. */
export interface ConvertedCall {
  readonly id: string;
  readonly result: ToolResultPart | undefined;
  readonly facts: CallFacts;
  /** The id of the question, if the call waits for an answer. */
  readonly approvalId: string | undefined;
}

/** Converts a part. Returns undefined for a part that has no content, such as the start of a step. */
export function convertPart(
  part: ChatPart,
  citations: readonly JsonValue[],
): ConvertedPart | undefined {
  const isOpen = textField(part, 'state') === 'streaming';
  const text = textField(part, 'text') ?? '';
  switch (part.type) {
    case 'text':
      return { part: { kind: 'text', text, ...cited(citations) }, isOpen };
    case 'reasoning':
      return { part: { kind: 'reasoning', form: 'full', text }, isOpen };
    case 'file':
      return { part: filePart(part), isOpen: false };
    case 'dynamic-tool':
      return convertCall(part, textField(part, 'toolName') ?? 'tool');
    default:
      if (part.type.startsWith('tool-')) return convertCall(part, part.type.slice('tool-'.length));
      if (part.type.startsWith('data-'))
        return { part: { kind: 'structured', value: jsonOf(field(part, 'data')) }, isOpen: false };
      return undefined;
  }
}

function cited(citations: readonly JsonValue[]): { readonly metadata?: Metadata } {
  return citations.length === 0 ? {} : { metadata: { citations: [...citations] } };
}

/** Returns the sources that a message names. They are shown below its last text. */
export function sourcesIn(parts: readonly ChatPart[]): readonly JsonValue[] {
  return parts.flatMap((part): readonly JsonValue[] => {
    if (part.type !== 'source-url' && part.type !== 'source-document') return [];
    const title = textField(part, 'title') ?? textField(part, 'filename');
    const url = textField(part, 'url');
    return [{ ...(title !== undefined && { title }), ...(url !== undefined && { url }) }];
  });
}

function convertCall(part: ChatPart, name: string): ConvertedPart {
  const given = textField(part, 'toolCallId') ?? '';
  const id = isId(given) ? given : 'call without an id';
  const state = textField(part, 'state') ?? '';
  const input = field(part, 'input');
  const isOpen = state === 'input-streaming';
  const text = input === undefined ? '' : JSON.stringify(input);
  const known = input === undefined || isOpen ? {} : { input: jsonOf(input) };
  const call = { kind: 'tool_call', toolCallId: toolCallId(id), name, arguments: text } as const;
  return {
    part: { ...call, ...known },
    isOpen,
    call: { id, ...outcomeOf(part, state, id, name) },
  };
}

type Outcome = Pick<ConvertedCall, 'result' | 'facts' | 'approvalId'>;

function outcomeOf(part: ChatPart, state: string, id: string, name: string): Outcome {
  const result = (text: string, isError: boolean): ToolResultPart => ({
    ...{ kind: 'tool_result', toolCallId: toolCallId(id), name, text, isError },
  });
  const none = { result: undefined, facts: {}, approvalId: undefined };
  const approval = field(part, 'approval') ?? {};
  const answer = typeof approval === 'object' ? approval : {};
  switch (state) {
    case 'approval-requested': {
      const approvalId = field(answer, 'id');
      return { ...none, approvalId: typeof approvalId === 'string' ? approvalId : id };
    }
    case 'approval-responded': {
      const isAllowed = field(answer, 'approved') === true;
      return isAllowed
        ? { ...none, facts: { answer: { decision: 'allow' } } }
        : { ...none, facts: denied(answer) };
    }
    case 'output-denied':
      return { ...none, facts: denied(answer) };
    case 'output-available': {
      // While a preliminary result grows, the tool still runs.
      if (field(part, 'preliminary') === true)
        return { ...none, result: result(outputText(part), false), facts: { startedAt: 0 } };
      return { ...none, result: result(outputText(part), false), facts: { outcome: 'completed' } };
    }
    case 'output-error':
      return { ...none, result: result(textField(part, 'errorText') ?? 'The call failed', true) };
    // The call has only its input yet. It runs now, or waits for the client.
    default:
      return none;
  }
}

function denied(answer: object): CallFacts {
  const reason = field(answer, 'reason');
  const message = typeof reason === 'string' && reason !== '' ? reason : 'You denied this call.';
  return { rejected: { code: 'denied', message } };
}

function outputText(part: ChatPart): string {
  const output = field(part, 'output');
  return typeof output === 'string' ? output : (JSON.stringify(output) ?? '');
}

function jsonOf(value: unknown): JsonValue {
  return (value ?? null) as JsonValue;
}

/** Maximum length of a data URL that is decoded. A longer one is named only. */
const maxDataUrl = 30 * 2 ** 20;

function filePart(part: ChatPart): MediaPart | FilePart {
  const mimeType = textField(part, 'mediaType') ?? 'application/octet-stream';
  const url = textField(part, 'url') ?? '';
  const name = textField(part, 'filename');
  const source = sourceOf(url);
  return name === undefined || mimeType.startsWith('image/')
    ? { kind: 'media', mimeType, source }
    : { kind: 'file', name, mimeType, source };
}

function sourceOf(url: string): MediaPart['source'] {
  const data = url.length > maxDataUrl ? undefined : /^data:[^,]*;base64,(.*)$/s.exec(url)?.[1];
  if (data === undefined) return { type: 'url', url };
  try {
    return { type: 'bytes', bytes: Uint8Array.from(atob(data), (one) => one.charCodeAt(0)) };
  } catch {
    return { type: 'url', url };
  }
}
