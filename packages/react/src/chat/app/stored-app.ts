import { isJsonObject, type JsonObject, parseJson, type ToolResultPart } from '@millrace/core';
import type { ChatSource } from '../state/chat-source.ts';

/** An MCP app, as the log stores it with the result of a tool. */
export interface StoredApp {
  /** The name of the MCP server. */
  readonly server: string;
  /** The name of the tool, as the server names it. */
  readonly tool: string;
  /** The hash of the blob with the HTML document. */
  readonly document: string;
  /** The names of the tools that the app can call. */
  readonly tools: readonly string[];
  /** The origins to which the app wants to connect. */
  readonly connect: readonly string[];
  /** The origins from which the app wants to load scripts, styles, pictures and fonts. */
  readonly resource: readonly string[];
}

/** Reads the app of a result. Returns undefined if the result has none, or an unreadable one. */
export function storedApp({ metadata }: ToolResultPart): StoredApp | undefined {
  const app = metadata?.['mcpApp'];
  if (!isJsonObject(app)) return undefined;
  const { server, tool, document, tools, csp } = app;
  if (typeof server !== 'string' || typeof tool !== 'string' || typeof document !== 'string')
    return undefined;
  const domains = isJsonObject(csp) ? csp : {};
  return {
    ...{ server, tool, document },
    tools: isJsonObject(tools) ? Object.keys(tools) : [],
    connect: textsOf(domains['connectDomains']),
    resource: textsOf(domains['resourceDomains']),
  };
}

function textsOf(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.filter((one) => typeof one === 'string') : [];
}

/**
 * Returns a result in the form that an app expects. If the server sent more than the model received, the log
 * also has the whole result of the server.
 */
export async function resultForApp(source: ChatSource, part: ToolResultPart): Promise<JsonObject> {
  const hash = part.metadata?.['mcpResult'];
  if (typeof hash === 'string') {
    const sent = parseJson(await (await source.blob(hash)).text());
    if (sent.ok && isJsonObject(sent.value)) return sent.value;
  }
  return {
    content: [{ type: 'text', text: part.text }],
    ...(isJsonObject(part.value) && { structuredContent: part.value }),
    ...(part.isError && { isError: true }),
  };
}
