import type { JsonObject } from '@millrace/core';
import { useCallback, useRef, useState } from 'react';
import { useMillrace } from '../../context.ts';
import { type ChatSource, findResult } from '../state/chat-source.ts';
import { LiveSource } from '../state/live-source.ts';
import { resultForApp } from './stored-app.ts';

/** The calls of an app, and the session in which they run. */
interface AppCalls {
  /** The session. Undefined before the first call. */
  readonly session: LiveSource | undefined;
  /** Calls a tool, and resolves with its result. Undefined if the user can only read. */
  readonly callTool: ((name: string, given: JsonObject) => Promise<JsonObject>) | undefined;
}

/**
 * Runs the tool calls of an app. The server runs them in a session of their own, with the permission rules of
 * the agent. The page follows that session, shows its questions, and reads the results there.
 */
export function useAppCalls(source: ChatSource, toolCallId: string): AppCalls {
  const { sources, isReadOnly = false } = useMillrace();
  const [session, setSession] = useState<LiveSource>();
  const shown = useRef<LiveSource>(undefined);
  const handle = source instanceof LiveSource && !isReadOnly ? source.handle : undefined;
  const callTool = useCallback(
    async (name: string, given: JsonObject) => {
      if (handle === undefined || sources === undefined) throw new Error('This session is closed');
      const called = await handle.callAppTool(toolCallId, { name, arguments: given });
      const child = shown.current ?? sources.get(called.taskId);
      shown.current = child;
      setSession(child);
      return resultOf(child, called.toolCallId);
    },
    [handle, sources, toolCallId],
  );
  return { session, callTool: handle && sources && callTool };
}

/** Resolves with the result of a call when its session has it. */
function resultOf(session: LiveSource, toolCallId: string): Promise<JsonObject> {
  return new Promise((resolve, reject) => {
    const find = () => {
      const { state } = session;
      const id = findResult(state, toolCallId);
      const part = id === undefined ? undefined : session.part(id);
      if (part?.kind !== 'tool_result' || state.open.some((open) => open.id === id)) return false;
      resultForApp(session, part).then(resolve, reject);
      return true;
    };
    if (find()) return;
    const stop = session.subscribe(() => {
      if (find()) stop();
    });
  });
}
