import type { ToolContext, ToolOutput } from '@millrace/agent';
import type { JsonObject } from '@millrace/core';
import type { Tool as RemoteTool } from '@modelcontextprotocol/client';
import { type CallFailure, callFailure } from './call-failure.ts';
import type { CallResult } from './call-result.ts';
import { clip } from './clip.ts';
import type { Connection } from './connection.ts';
import { explain } from './explain.ts';
import { McpError } from './mcp-error.ts';
import type { McpSettings } from './mcp-options.ts';
import { progressTeller } from './progress.ts';
import type { Redact } from './secrets.ts';
import type { ServerLink } from './server-link.ts';
import { toolOutput } from './tool-output.ts';

/** What a call needs beside its input. */
export interface Remote {
  readonly server: string;
  readonly link: ServerLink;
  readonly settings: McpSettings;
  readonly redact: Redact;
  /** Tells of a problem outside of any call. */
  report(problem: string): void;
}

// The first connection may be one that is gone without our knowing; the second is new.
const maxAttempts = 2;
const maxErrorLength = 4_000;

export async function callTool(
  remote: Remote,
  tool: RemoteTool,
  input: JsonObject,
  context: ToolContext,
): Promise<ToolOutput> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), remote.settings.totalTimeoutMs);
  const signal = AbortSignal.any([context.signal, deadline.signal]);
  try {
    const outcome = await attempt(remote, tool, input, { signal, context });
    context.signal.throwIfAborted();
    if (typeof outcome === 'string') return failed(remote, outcome);
    const { output } = toolOutput(outcome, remote.settings.maxAttachmentBytes);
    return output.isError === true
      ? { output: { ...output, text: remote.redact(output.text) } }
      : { output };
  } finally {
    clearTimeout(timer);
  }
}

interface Call {
  readonly signal: AbortSignal;
  readonly context: ToolContext;
}

/** The result, or in words why there is none. */
async function attempt(
  remote: Remote,
  tool: RemoteTool,
  input: JsonObject,
  call: Call,
): Promise<CallResult | string> {
  const { link, server, settings } = remote;
  for (let count = 1; ; count++) {
    const connection = await acquire(link, call.signal);
    if (typeof connection === 'string') return `${tool.name} was not called. ${connection}`;
    try {
      return await connection.callTool(tool, input, {
        signal: call.signal,
        timeout: settings.timeoutMs,
        resetTimeoutOnProgress: true,
        onprogress: progressTeller(call.context.update),
        trace: call.context.trace,
      });
    } catch (error) {
      const failure = callFailure(error);
      const { kind } = failure;
      if (kind === 'undone' || kind === 'lost') connection.retire();
      const isRetried = kind === 'undone' && failure.isRetryable && count < maxAttempts;
      if (isRetried && !call.signal.aborted) continue;
      const told = link.closing.aborted ? closed : tell(failure, connection, settings);
      return `${tool.name} of MCP server ${server} ${told}`;
    }
  }
}

const closed = 'was given up, because its server was closed. Whether it took effect is unknown.';

async function acquire(link: ServerLink, signal: AbortSignal): Promise<Connection | string> {
  try {
    return await link.acquire(signal);
  } catch (error) {
    if (error instanceof McpError) return error.message;
    return `Its server was not there in time: ${explain(error)}`;
  }
}

const lost =
  'gave no result: the connection broke, and whether it took effect is unknown. The next call connects again.';

function tell(failure: CallFailure, connection: Connection, settings: McpSettings): string {
  const { timeoutMs, totalTimeoutMs } = settings;
  switch (failure.kind) {
    case 'undone':
      return `was not called: ${failure.why}`;
    case 'lost':
      return `${lost} ${failure.why || connection.lastWords()}`;
    case 'timed_out':
      return `gave no result in time (${timeoutMs} ms without a sign of life, ${totalTimeoutMs} ms in all) and was cancelled. Whether it took effect is unknown.`;
    case 'asked_back':
      return 'asks for more input in the midst of the call, which is not offered here. Give it all that it needs in its arguments.';
    case 'refused':
      return `failed: ${failure.why}`;
  }
}

function failed({ redact }: Remote, why: string): ToolOutput {
  const text = clip(redact(why).trim(), maxErrorLength);
  return { output: { text, isError: true } };
}
