import { type AgentContext, type ClientCapabilities, methods } from '@agentclientprotocol/sdk';
import type { SessionId } from '@millrace/core';
import type { OpenBuffers } from '@millrace/tools';

interface EditorBuffersOptions {
  readonly session: SessionId;
  readonly client: AgentContext;
  readonly capabilities: ClientCapabilities;
}

/**
 * Returns the files that the editor has open. Returns undefined if the editor does not offer its files. The
 * workspace checks each path before it asks the editor.
 */
export function editorBuffers(options: EditorBuffersOptions): OpenBuffers | undefined {
  const { session: sessionId, client, capabilities } = options;
  const { readTextFile = false, writeTextFile = false } = capabilities.fs ?? {};
  if (!readTextFile) return undefined;
  const { fs } = methods.client;
  return {
    read: async (path) => (await client.request(fs.readTextFile, { sessionId, path })).content,
    write: writeTextFile
      ? async (path, content) => {
          await client.request(fs.writeTextFile, { sessionId, path, content });
        }
      : undefined,
  };
}
