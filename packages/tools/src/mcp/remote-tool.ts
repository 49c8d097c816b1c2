import type { Tool, Validated } from '@millrace/agent';
import type { JsonObject, JsonValue } from '@millrace/core';
import { getDisplayName, type Tool as RemoteTool } from '@modelcontextprotocol/client';
import { callTool, type Remote } from './call-tool.ts';
import { clip } from './clip.ts';

const maxSummaryLength = 200;
// The loop stops what hangs; before it does, the call stops itself, and the server hears of that.
const marginMs = 5_000;

/** A tool of a server as one of ours. */
export function remoteTool(remote: Remote, name: string, tool: RemoteTool): Tool {
  const { settings, server } = remote;
  const { readOnlyHint = false, idempotentHint = false } =
    (settings.trustAnnotations ? tool.annotations : undefined) ?? {};
  const about = tool.description ?? tool.title ?? `Tool ${tool.name} of MCP server ${server}`;
  return {
    name,
    description: clip(about, settings.maxDescriptionLength),
    inputSchema: tool.inputSchema as JsonObject,
    effects: readOnlyHint ? 'none' : 'external',
    replay: readOnlyHint || idempotentHint ? 'safe' : 'never',
    timeoutMs: Math.min(settings.totalTimeoutMs + marginMs, 2 ** 31 - 1),
    maxOutputLength: settings.maxOutputLength,
    retries: 0,
    startsSession: false,
    summarize: (input) =>
      clip(`${server}: ${getDisplayName(tool)} ${JSON.stringify(input)}`, maxSummaryLength),
    validate: async (input) => validate(input),
    execute: (input, context) => callTool(remote, tool, input as JsonObject, context),
  };
}

/** The rest of the schema is the server's to check: it knows its dialect. */
function validate(input: JsonValue): Validated {
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input);
  if (isObject) return { ok: true, value: input };
  return { ok: false, problem: 'The arguments must be a JSON object' };
}
