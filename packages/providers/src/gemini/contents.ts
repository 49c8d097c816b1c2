import type { JsonObject, ToolCallId } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';
import type { Message, SaidMessage } from '../history/message.ts';
import { functionResponses } from './function-responses.ts';
import { generationOf } from './model-generation.ts';
import { modelParts } from './model-parts.ts';
import { partData } from './part-state.ts';
import { saidPart } from './said-part.ts';

export interface ContentsOptions {
  readonly model: string;
  /** Else a call's id is sent only where the provider gave it. */
  readonly sendsAllIds: boolean;
}

type Content = { readonly role: 'user' | 'model'; readonly parts: readonly JsonObject[] };

/** Stands for the user where the model would have spoken first, which is refused. */
const silence: Content = { role: 'user', parts: [{ text: '(no message)' }] };

/** `contents` and `systemInstruction`. Instructions that come later stay in their place, as the user's. */
export function contentFields(messages: readonly Message[], options: ContentsOptions): JsonObject {
  const firstSaid = messages.findIndex((message) => !isInstruction(message));
  const spoken = firstSaid < 0 ? [] : messages.slice(firstSaid);
  const instructions = messages.slice(0, messages.length - spoken.length).filter(isInstruction);
  const contents = alternating(contentsOf(spoken, options));
  if (contents[0] === undefined) {
    throw fault('invalid_request', 'there is nothing to answer; add an item of the user');
  }
  const parts = instructions.flatMap((message) => message.parts.map(saidPart));
  return {
    ...(parts.length === 0 ? {} : { systemInstruction: { parts } }),
    contents: contents[0].role === 'model' ? [silence, ...contents] : contents,
  };
}

function isInstruction(message: Message): message is SaidMessage {
  return message.role === 'system' || message.role === 'developer';
}

function contentsOf(messages: readonly Message[], options: ContentsOptions): readonly Content[] {
  // From the third on calls must be signed, and results can hold pictures.
  const isThird = generationOf(options.model) >= 3;
  const ids = sentIds(messages, options);
  const idOf = (call: ToolCallId) => ids.get(call);
  return messages.map((message): Content => {
    switch (message.role) {
      case 'assistant':
        return { role: 'model', parts: modelParts(message, { wantsSignatures: isThird, idOf }) };
      case 'tool':
        return { role: 'user', parts: functionResponses(message, { nestsMedia: isThird, idOf }) };
      default:
        return { role: 'user', parts: message.parts.map(saidPart) };
    }
  });
}

/** The ids that calls, and their results, are sent with. */
function sentIds(
  messages: readonly Message[],
  { sendsAllIds }: ContentsOptions,
): ReadonlyMap<ToolCallId, string> {
  const calls = messages
    .flatMap((message) => (message.role === 'assistant' ? message.parts : []))
    .filter((part) => part.kind === 'tool_call');
  return new Map(
    calls.flatMap((call) => {
      const id = sendsAllIds ? call.toolCallId : partData(call).id;
      return id === undefined ? [] : [[call.toolCallId, id]];
    }),
  );
}

/** Neighbours of one role as one. */
function alternating(contents: readonly Content[]): readonly Content[] {
  const merged: Content[] = [];
  for (const content of contents) {
    const last = merged.at(-1);
    if (content.parts.length === 0) continue;
    if (last?.role !== content.role) merged.push(content);
    else merged[merged.length - 1] = { ...last, parts: [...last.parts, ...content.parts] };
  }
  return merged;
}
