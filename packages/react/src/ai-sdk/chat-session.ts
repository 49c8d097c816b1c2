import { useLayoutEffect, useMemo, useRef } from 'react';
import type { ItemActions } from '../chat/branch/branch-switch.tsx';
import type { Session, SessionCommands } from '../session/session.ts';
import type { ChatFile, ChatHelpers } from './chat-helpers.ts';
import { MessagesSource } from './messages-source.ts';

/** Options of `useChatSession`. */
export interface ChatSessionOptions {
  /** True if the user can only read the session. Default: false. */
  readonly isReadOnly?: boolean | undefined;
  /** True if the user can edit a sent message. The messages after it are then removed. Default: true. */
  readonly canEdit?: boolean | undefined;
}

/**
 * Returns the chat of `useChat` as a session. Questions about tool calls are answered with
 * `addToolApprovalResponse`, so set `sendAutomaticallyWhen` of `useChat` if the answer must start the
 * next request.
 */
export function useChatSession(
  chat: ChatHelpers,
  { isReadOnly = false, canEdit = true }: ChatSessionOptions = {},
): Session {
  const latest = useRef(chat);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a source belongs to one chat, and the effect updates it
  const source = useMemo(() => new MessagesSource(chat.id, chat), [chat.id]);
  const { messages, status, error } = chat;
  useLayoutEffect(() => {
    latest.current = chat;
  });
  useLayoutEffect(
    () => source.update({ messages, status, error }),
    [source, messages, status, error],
  );
  const hasApprovals = chat.addToolApprovalResponse !== undefined;
  const canRegenerate = chat.regenerate !== undefined;
  return useMemo((): Session => {
    if (isReadOnly) return { source, commands: undefined };
    const now = () => latest.current;
    return {
      source,
      commands: commandsOf(now, source, hasApprovals, canRegenerate),
      actions: actionsOf(now, canEdit, canRegenerate),
    };
  }, [source, isReadOnly, canEdit, hasApprovals, canRegenerate]);
}

function commandsOf(
  chat: () => ChatHelpers,
  source: MessagesSource,
  hasApprovals: boolean,
  canRegenerate: boolean,
): SessionCommands {
  const answer = async (callId: string, approved: boolean, reason?: string) => {
    const id = source.approvalId(callId);
    const { addToolApprovalResponse: send } = chat();
    if (id === undefined || send === undefined || !hasApprovals)
      throw new Error('This call no longer waits for an answer. Load the chat again');
    await send({ id, approved, ...(reason !== undefined && { reason }) });
  };
  return {
    ...{ canSteer: false, canAttach: true, canChangeInput: false },
    send: async ({ text, files = [] }) => {
      const attached = await Promise.all(files.map(dataUrlOf));
      // The promise of the AI SDK resolves at the end of the answer. The message is accepted before it,
      // and a failure is the state of the chat.
      void chat()
        .sendMessage({ text, ...(attached.length > 0 && { files: attached }) })
        .catch(() => {});
    },
    stop: () => chat().stop(),
    approve: (callId) => answer(callId, true),
    deny: (callId, options) => answer(callId, false, options?.reason),
    ...(canRegenerate && { retry: async () => chat().regenerate?.() }),
  };
}

function actionsOf(chat: () => ChatHelpers, canEdit: boolean, canRegenerate: boolean): ItemActions {
  return {
    // The AI SDK has a single list of messages, so there are no branches.
    branches: () => undefined,
    ...(canEdit && {
      edit: async (messageId, text) => {
        void chat()
          .sendMessage({ text, messageId })
          .catch(() => {});
      },
    }),
    ...(canRegenerate && {
      regenerate: (messageId) =>
        void chat()
          .regenerate?.({ messageId })
          .catch(() => {}),
    }),
  };
}

/** Reads a file as a data URL, which is the form of files in messages of the AI SDK. */
function dataUrlOf(file: File): Promise<ChatFile> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () =>
      resolve({
        ...{ type: 'file', filename: file.name, url: String(reader.result) },
        mediaType: file.type === '' ? 'application/octet-stream' : file.type,
      });
    reader.onerror = () =>
      reject(new Error(`${file.name} could not be read`, { cause: reader.error }));
    reader.readAsDataURL(file);
  });
}
