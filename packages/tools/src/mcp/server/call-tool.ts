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
import {
  type LoginChallenge,
  LoginNeededError,
  McpError,
  UnsentError,
} from '../../contract/mcp-error.ts';
import type { McpSettings } from '../../contract/mcp-options.ts';
import { clip, describeError, type Redact } from '../transport/error-text.ts';
import { lostStream } from '../transport/http-transport.ts';
import { type Connection, loginRequired } from './connection.ts';
import { IdleLimit } from './elicitation.ts';
import { withApp } from './keep-app.ts';
import type { ServerLink } from './server-link.ts';
import { type CallResult, toolOutput } from './tool-output.ts';

/** The server and its settings. All calls share them. */
export interface RemoteServer {
  readonly server: string;
  readonly link: ServerLink;
  readonly settings: McpSettings;
  readonly redact: Redact;
  /** Logs the user in. Undefined if nobody can open a login page. */
  readonly logIn?: LogIn | undefined;
  /** Reports a problem that does not belong to a call. */
  report(problem: string): void;
}

/** Logs the user in with what the server said about the login. */
export type LogIn = (challenge: LoginChallenge, signal: AbortSignal) => Promise<void>;

// The connection of the first attempt may be broken without notice. The second attempt uses a new connection.
const maxAttempts = 2;
const maxErrorLength = 4_000;

export async function callTool(
  remote: RemoteServer,
  tool: RemoteTool,
  input: JsonObject,
  context: ToolContext,
  appTools: ReadonlyMap<string, string>,
): Promise<ToolOutput> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), remote.settings.totalTimeoutMs);
  const signal = AbortSignal.any([context.signal, deadline.signal]);
  try {
    const outcome = await callWithRetry(remote, tool, input, { signal, context });
    context.signal.throwIfAborted();
    if (typeof outcome === 'string') return errorOutput(remote, outcome);
    const { output: read } = toolOutput(outcome, remote.settings.maxAttachmentBytes);
    const output = read.isError === true ? { ...read, text: remote.redact(read.text) } : read;
    return { output: await withApp(output, { remote, tool, result: outcome, context, appTools }) };
  } finally {
    clearTimeout(timer);
  }
}

interface Call {
  readonly signal: AbortSignal;
  readonly context: ToolContext;
}

/** Returns the result of the call. If there is none, it returns a text that explains the reason. */
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
    const { session, ask, update, trace } = call.context;
    const idle = new IdleLimit(settings.timeoutMs);
    const report = progressReporter(update);
    try {
      return await connection.callTool(tool, input, {
        signal: AbortSignal.any([call.signal, idle.signal]),
        // The SDK would also count the time in which a user answers a question of the server.
        timeout: settings.totalTimeoutMs,
        onprogress: (progress) => {
          idle.restart();
          report(progress);
        },
        trace,
        asking: { session, ask, onAsking: (isAsking) => idle.onAsking(isAsking) },
      });
    } catch (error) {
      if (error instanceof LoginNeededError) {
        const problem = await logInAgain(remote, error, count, call);
        if (problem === undefined) continue;
        return `${tool.name} was not called. ${problem}`;
      }
      const failure = idle.signal.aborted ? timedOut : callFailure(error);
      const { kind } = failure;
      if (kind === 'undone' || kind === 'lost') connection.retire();
      const isRetried = kind === 'undone' && failure.isRetryable && count < maxAttempts;
      if (isRetried && !call.signal.aborted) continue;
      const failureText = link.closing.aborted
        ? closedText
        : describeFailure(failure, connection, settings);
      return `${tool.name} of MCP server ${server} ${failureText}`;
    } finally {
      idle.stop();
    }
  }
}

/** Logs in after the first refused attempt. Returns the reason if the call cannot be repeated. */
async function logInAgain(
  { logIn, server }: RemoteServer,
  needed: LoginNeededError,
  attempt: number,
  { signal }: Call,
): Promise<string | undefined> {
  if (logIn === undefined || attempt >= maxAttempts) return loginRequired(server, needed).message;
  try {
    await logIn(needed.challenge, signal);
    return undefined;
  } catch (error) {
    return describeError(error);
  }
}

const closedText =
  'was cancelled because its server was closed. It is unknown whether it took effect.';

async function acquire(link: ServerLink, signal: AbortSignal): Promise<Connection | string> {
  try {
    return await link.acquire(signal);
  } catch (error) {
    if (error instanceof McpError) return error.message;
    return `The server did not connect in time: ${describeError(error)}`;
  }
}

const lostText =
  'gave no result: the connection broke, and it is unknown whether it took effect. The next call connects again.';

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
      return `gave no result in time (limits: ${timeoutMs} ms without progress, ${totalTimeoutMs} ms in total) and was cancelled. It is unknown whether it took effect.`;
    case 'asked_back':
      return 'asks for more input during the call than this client gives. Pass everything that it needs in the arguments.';
    case 'refused':
      return `failed: ${failure.why}`;
  }
}

function errorOutput({ redact }: RemoteServer, why: string): ToolOutput {
  const text = clip(redact(why).trim(), maxErrorLength);
  return { output: { text, isError: true } };
}

/** The reason why a call has no result. */
type CallFailure =
  /**
   * The server did not execute the call. If `isRetryable` is true, the client repeats the call on a new
   * connection.
   */
  | { readonly kind: 'undone'; readonly why: string; readonly isRetryable: boolean }
  /** The connection broke, so nobody can tell whether the server executed the call. */
  | { readonly kind: 'lost'; readonly why: string }
  | { readonly kind: 'timed_out' }
  /** The server asks back for more input than this client provides. */
  | { readonly kind: 'asked_back' }
  /** The server rejected the call, or its response cannot be read. */
  | { readonly kind: 'refused'; readonly why: string };

const timedOut: CallFailure = { kind: 'timed_out' };

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
  // `fetch` stores the network error in `cause`. A closed SDK client has the message "Not connected".
  const { code } = (error.cause ?? {}) as { readonly code?: unknown };
  return unsentCodes.includes(code) || error.message === 'Not connected';
}

/**
 * Returns the failure for an HTTP status. 404 means that the server no longer has the session, and the client
 * must initialize a new one.
 */
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
    case SdkErrorCode.InputRequiredRoundsExceeded:
      return { kind: 'asked_back' };
    case SdkErrorCode.InvalidResult:
      return { kind: 'refused', why: `its result cannot be read: ${why}` };
    default:
      return { kind: 'lost', why };
  }
}

const allReported = 128;
const maxLength = 500;

/**
 * Returns a function that reports progress as lines. It reports each of the first notifications, and then
 * fewer and fewer of them. A server therefore cannot fill the log.
 */
function progressReporter(update: (text: string) => void): (progress: Progress) => void {
  let count = 0;
  return (progress) => {
    count++;
    if (isReported(count)) update(`${lineOf(progress)}\n`);
  };
}

/**
 * True if the notification with this number is reported. From 129 to 256, every second notification is
 * reported; from 257 to 512, every fourth; and so on. Each range contributes 64 notifications.
 */
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
