import type { ToolContext, ToolOutput } from '@millrace/agent';
import type { JsonObject } from '@millrace/core';
import {
  type Progress,
  ProtocolError,
  type Tool as RemoteTool,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from '@modelcontextprotocol/client';
import { McpError, UnsentError } from '../../contract/mcp-error.ts';
import type { McpSettings } from '../../contract/mcp-options.ts';
import { clip, describeError, type Redact } from '../transport/error-text.ts';
import { lostStream } from '../transport/http-transport.ts';
import type { Connection } from './connection.ts';
import type { ServerLink } from './server-link.ts';
import { type CallResult, toolOutput } from './tool-output.ts';

/** What a call needs beside its input. */
export interface RemoteServer {
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
  remote: RemoteServer,
  tool: RemoteTool,
  input: JsonObject,
  context: ToolContext,
): Promise<ToolOutput> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), remote.settings.totalTimeoutMs);
  const signal = AbortSignal.any([context.signal, deadline.signal]);
  try {
    const outcome = await callWithRetry(remote, tool, input, { signal, context });
    context.signal.throwIfAborted();
    if (typeof outcome === 'string') return errorOutput(remote, outcome);
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
async function callWithRetry(
  remote: RemoteServer,
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
        onprogress: progressReporter(call.context.update),
        trace: call.context.trace,
      });
    } catch (error) {
      const failure = callFailure(error);
      const { kind } = failure;
      if (kind === 'undone' || kind === 'lost') connection.retire();
      const isRetried = kind === 'undone' && failure.isRetryable && count < maxAttempts;
      if (isRetried && !call.signal.aborted) continue;
      const failureText = link.closing.aborted
        ? closedText
        : describeFailure(failure, connection, settings);
      return `${tool.name} of MCP server ${server} ${failureText}`;
    }
  }
}

const closedText =
  'was given up, because its server was closed. Whether it took effect is unknown.';

async function acquire(link: ServerLink, signal: AbortSignal): Promise<Connection | string> {
  try {
    return await link.acquire(signal);
  } catch (error) {
    if (error instanceof McpError) return error.message;
    return `Its server was not there in time: ${describeError(error)}`;
  }
}

const lostText =
  'gave no result: the connection broke, and whether it took effect is unknown. The next call connects again.';

function describeFailure(
  failure: CallFailure,
  connection: Connection,
  settings: McpSettings,
): string {
  const { timeoutMs, totalTimeoutMs } = settings;
  switch (failure.kind) {
    case 'undone':
      return `was not called: ${failure.why}`;
    case 'lost':
      return `${lostText} ${failure.why || connection.failureDetails()}`;
    case 'timed_out':
      return `gave no result in time (${timeoutMs} ms without a sign of life, ${totalTimeoutMs} ms in all) and was cancelled. Whether it took effect is unknown.`;
    case 'asked_back':
      return 'asks for more input in the midst of the call, which is not offered here. Give it all that it needs in its arguments.';
    case 'refused':
      return `failed: ${failure.why}`;
  }
}

function errorOutput({ redact }: RemoteServer, why: string): ToolOutput {
  const text = clip(redact(why).trim(), maxErrorLength);
  return { output: { text, isError: true } };
}

/** What became of a call that gave no result. */
type CallFailure =
  /** The server did nothing about it. Where it is worth another try, that is over a new connection. */
  | { readonly kind: 'undone'; readonly why: string; readonly isRetryable: boolean }
  /** The connection broke, and nobody knows how far the call came. */
  | { readonly kind: 'lost'; readonly why: string }
  | { readonly kind: 'timed_out' }
  /** It wants something in return that we do not have. */
  | { readonly kind: 'asked_back' }
  /** The server is there, and said no or something that cannot be read. */
  | { readonly kind: 'refused'; readonly why: string };

function callFailure(error: unknown): CallFailure {
  const why = describeError(error);
  if (isUnsent(error)) return { kind: 'undone', why, isRetryable: true };
  if (ProtocolError.isInstance(error)) {
    if (error.data === lostStream) return { kind: 'lost', why: '' };
    return { kind: 'refused', why: `MCP error ${error.code}: ${error.message}` };
  }
  if (SdkHttpError.isInstance(error)) return httpFailure(error.status, why);
  return SdkError.isInstance(error) ? sdkFailure(error.code, why) : { kind: 'lost', why };
}

const unsentCodes: readonly unknown[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'];

function isUnsent(error: unknown): boolean {
  if (error instanceof UnsentError) return true;
  if (!(error instanceof Error)) return false;
  // What fetch met is the cause of what it throws; the second is how the client says that it is closed.
  const { code } = (error.cause ?? {}) as { readonly code?: unknown };
  return unsentCodes.includes(code) || error.message === 'Not connected';
}

/** With 404 a server says that it forgot the session, and wants to be greeted again. */
function httpFailure(status: number, why: string): CallFailure {
  if (status >= 500) return { kind: 'lost', why };
  return { kind: 'undone', why, isRetryable: status === 404 };
}

function sdkFailure(code: SdkErrorCode, why: string): CallFailure {
  switch (code) {
    case SdkErrorCode.RequestTimeout:
      return { kind: 'timed_out' };
    case SdkErrorCode.ConnectionClosed:
      return { kind: 'lost', why: '' };
    case SdkErrorCode.UnsupportedResultType:
      return { kind: 'asked_back' };
    case SdkErrorCode.InvalidResult:
      return { kind: 'refused', why: `its result cannot be read: ${why}` };
    default:
      return { kind: 'lost', why };
  }
}

const allReported = 128;
const maxLength = 500;

/** Tells progress as lines: at first all of it, then less and less, so that no server fills a log with it. */
function progressReporter(update: (text: string) => void): (progress: Progress) => void {
  let count = 0;
  return (progress) => {
    count++;
    if (isReported(count)) update(`${lineOf(progress)}\n`);
  };
}

/** Of 129 to 256 every second, of 257 to 512 every fourth, and so on: 64 for each doubling. */
function isReported(count: number): boolean {
  if (count <= allReported) return true;
  const stride = 2 ** Math.ceil(Math.log2(count / allReported));
  return count % stride === 0;
}

function lineOf({ progress, total, message }: Progress): string {
  const done = total === undefined ? `${progress}` : `${progress}/${total}`;
  if (message === undefined || message.trim() === '') return done;
  return clip(total === undefined ? message : `${message} (${done})`, maxLength);
}
