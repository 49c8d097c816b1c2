import type { UiMessage } from '@millrace/agent';
import { UiMessages } from '@millrace/core/streams';
import { safeValidateUIMessages, type UIMessage } from 'ai';
import { expect } from 'vitest';
import { shownByUi, uiFramesOf } from './ai-sdk-client.ts';
import type { RecordedLog } from './recorded-logs.ts';

type Session = Pick<RecordedLog, 'session' | 'records'>;

/** The messages of a stored session. */
export const messagesOf = ({ session: id, records }: Session): UiMessage[] => {
  const messages = new UiMessages(id);
  const through = records.at(-1)?.offset ?? 0;
  expect(messages.add({ after: 0, through, records })).toBe(true);
  return messages.list();
};

/** The messages that the AI SDK's reader builds from the stream of each run. */
export async function streamed({ session: id, records }: Session): Promise<readonly UIMessage[]> {
  const starts = records.filter(({ fact }) => fact?.type === 'run_started');
  const frames = uiFramesOf(id, records);
  const shown = starts.map(async ({ offset }, at) => {
    const end = starts[at + 1]?.offset ?? Number.POSITIVE_INFINITY;
    const its = frames.filter((one) => one.offset >= offset && one.offset < end);
    return (await shownByUi(its.flatMap((one) => one.frames))).message ?? [];
  });
  return (await Promise.all(shown)).flat();
}

/**
 * Returns the parts of messages that must be equal in a stored session and in a stream. A stored session
 * omits steps whose content was removed. A reader parses incomplete JSON differently, and drops approvals
 * when a step is reset. The view `ui` shows a denied call as an error, because it has only the fold and the
 * next record.
 */
export function comparable(messages: readonly (UIMessage | UiMessage)[]): unknown {
  const isStep = (part: object | undefined) =>
    part !== undefined && 'type' in part && part.type === 'step-start';
  return messages
    .filter(({ role }) => role === 'assistant')
    .map(({ id, parts }) => {
      const kept = parts.filter((part, at) => !isStep(part) || !isStep(parts[at + 1] ?? part));
      const plain = kept.map((part) => {
        const { approval: _, ...rest } = part as {
          readonly approval?: unknown;
          readonly state?: string;
          readonly errorText?: string;
        };
        if (rest.state === 'input-streaming') return { ...rest, input: undefined };
        return isDenied(rest) ? { ...rest, state: 'denied', errorText: undefined } : rest;
      });
      return { id, parts: JSON.parse(JSON.stringify(plain)) };
    })
    .filter(({ parts }) => parts.length > 0);
}

function isDenied(part: { readonly state?: string; readonly errorText?: string }): boolean {
  const { state, errorText = '' } = part;
  return state === 'output-denied' || errorText.startsWith('It was not allowed');
}

/**
 * Returns the questions about calls and their answers, by call id. It omits a call that failed after it was
 * denied, or without an answer, because the AI SDK's validation refuses its question.
 */
export function approvalsIn(messages: readonly (UIMessage | UiMessage)[]): Map<string, unknown> {
  const found = new Map<string, unknown>();
  for (const part of messages.flatMap(({ parts }): readonly object[] => parts)) {
    const { toolCallId, state, approval } = part as {
      readonly toolCallId?: string;
      readonly state?: string;
      readonly approval?: { readonly approved?: boolean };
    };
    const isOver = state === 'output-error' && approval?.approved !== true;
    if (toolCallId !== undefined && approval !== undefined && !isOver)
      found.set(toolCallId, approval);
  }
  return found;
}

/** True if the AI SDK's own validation accepts the messages. */
export const isValid = async (messages: UiMessage[]): Promise<boolean> => {
  // This assignment checks that the result has the type of the SDK, without a cast.
  const own: UIMessage[] = messages;
  return own.length === 0 || (await safeValidateUIMessages({ messages: own })).success;
};
