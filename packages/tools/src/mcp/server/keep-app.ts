import type { ToolContext, ToolOutput } from '@millrace/agent';
import { type FilePart, isJsonObject, type JsonObject } from '@millrace/core';
import type { Tool as RemoteTool } from '@modelcontextprotocol/client';
import type { McpSettings } from '../../contract/mcp-options.ts';
import { describeError, type Redact } from '../transport/error-text.ts';
import { appType, appUri } from './mcp-apps.ts';
import type { ServerLink } from './server-link.ts';
import type { CallResult } from './tool-output.ts';

/** The server of an app, and how to reach it. */
interface AppServer {
  readonly server: string;
  readonly link: ServerLink;
  readonly settings: McpSettings;
  readonly redact: Redact;
  /** Reports a problem that does not belong to a call. */
  report(problem: string): void;
}

/** Maximum number of tools that the log lists for an app. */
const maxAppTools = 200;

/** A finished call whose app the log keeps. */
interface AppCall {
  readonly remote: AppServer;
  readonly tool: RemoteTool;
  readonly result: CallResult;
  readonly context: ToolContext;
  /** The names of the tools that apps of the server can call: as the server and as the agent name them. */
  readonly appTools: ReadonlyMap<string, string>;
}

type Output = ToolOutput['output'];

/**
 * Adds the app of a tool to its output, so that the log has everything that a page needs to show the app
 * later: its document, the result as the server sent it, and the tools that the app can call. The model
 * receives none of it. If the app cannot be read, the output stays without it.
 */
export async function withApp(output: Output, call: AppCall): Promise<Output> {
  const { remote, tool, context, appTools } = call;
  const { settings, link, server } = remote;
  const uri = appUri(tool);
  if (!settings.apps || (uri === undefined && !appTools.has(tool.name))) return output;
  const files: FilePart[] = [];
  const keep = async (name: string, mimeType: string, bytes: Uint8Array) => {
    const ref = await context.blobs.put(bytes);
    const source = { type: 'blob', ...ref } as const;
    files.push({ kind: 'file', name, mimeType, source, metadata: { audience: 'user' } });
    return ref.hash;
  };
  const result = await keepResult(output, call, keep);
  const app = uri === undefined ? undefined : await keepDocument(uri).catch(failed);
  const metadata = {
    ...output.metadata,
    ...(result !== undefined && { mcpResult: result }),
    ...(app !== undefined && { mcpApp: app }),
  };
  if (Object.keys(metadata).length === 0) return output;
  return {
    ...output,
    metadata,
    ...(files.length > 0 && { attachments: [...(output.attachments ?? []), ...files] }),
  };

  async function keepDocument(of: string): Promise<JsonObject> {
    const signal = AbortSignal.any([
      context.signal,
      AbortSignal.timeout(Math.min(settings.timeoutMs, maxReadMs)),
    ]);
    const connection = await link.acquire(signal);
    const { html, ...declared } = await connection.readApp(of, signal);
    const document = await keep('app.html', appType, html);
    const tools = Object.fromEntries([...appTools].slice(0, maxAppTools));
    return { server, uri: of, tool: tool.name, document, tools, ...declared } as JsonObject;
  }

  function failed(error: unknown): undefined {
    context.signal.throwIfAborted();
    remote.report(`its app ${uri} is not shown: ${describeError(error)}`);
    return undefined;
  }
}

/** Maximum time to read the document of an app, in milliseconds. */
const maxReadMs = 30_000;

/**
 * Keeps the result as the server sent it, unless the output has the same content. An app also gets fields that
 * the model does not see, such as `_meta`. Returns the hash of the kept result.
 */
async function keepResult(
  { text, value, isError = false }: Output,
  { result, remote: { settings, redact } }: AppCall,
  keep: (name: string, mimeType: string, bytes: Uint8Array) => Promise<string>,
): Promise<string | undefined> {
  const [first] = result.content;
  const isSame =
    result.content.length === 1 &&
    first?.type === 'text' &&
    first['text'] === text &&
    Object.keys(first).length === 2 &&
    result._meta === undefined &&
    (result.structuredContent === undefined || isJsonObject(value));
  if (isSame) return undefined;
  const json = JSON.stringify(result);
  const bytes = new TextEncoder().encode(isError ? redact(json) : json);
  if (bytes.length > settings.maxAppBytes) return undefined;
  return keep('result.json', 'application/json', bytes);
}
