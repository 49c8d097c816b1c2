import type { JsonObject, TraceContext } from '@millrace/core';
import {
  type CallToolResult,
  Client,
  type GetPromptResult,
  ProtocolError,
  ProtocolErrorCode,
  type Prompt as RemotePrompt,
  type Tool as RemoteTool,
  type RequestOptions,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/client';
import { LoginNeededError, McpError } from '../../contract/mcp-error.ts';
import type { McpSettings } from '../../contract/mcp-options.ts';
import type { McpServer } from '../../contract/mcp-server.ts';
import {
  createTransport,
  type ServerAccess,
  type ServerTransport,
} from '../transport/create-transport.ts';
import { clip, describeError } from '../transport/error-text.ts';
import { paced } from '../transport/http-transport.ts';
import { type AskingCall, Elicitations } from './elicitation.ts';
import { type AppDocument, appCapability, readApp } from './mcp-apps.ts';
import { packageVersion } from './package-version.ts';
import { callResourceTool, withResourceTools } from './resource-tools.ts';
import { listTools, type ReportProblem } from './tool-list.ts';
import { type CallResult, callResult } from './tool-output.ts';

interface CallOptions extends RequestOptions {
  /** The trace to which the call belongs. It is sent in `_meta` of the request, as MCP specifies. */
  readonly trace?: TraceContext | undefined;
  /** The call that answers questions of the server. Default: the questions are cancelled. */
  readonly asking?: AskingCall | undefined;
}

/** An initialized connection to a server. */
export interface Connection {
  readonly instructions: string | undefined;
  /** Returns true if the connection accepts calls. */
  isOpen(): boolean;
  /**
   * Returns true if the client or the server has closed the connection. The server process may still be
   * running.
   */
  isClosed(): boolean;
  failureDetails(): string;
  listTools(signal: AbortSignal, report: ReportProblem): Promise<readonly RemoteTool[]>;
  /** Lists the prompts. Returns an empty list if the server has none. */
  listPrompts(signal: AbortSignal): Promise<readonly RemotePrompt[]>;
  getPrompt(
    name: string,
    given: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<GetPromptResult>;
  callTool(tool: RemoteTool, input: JsonObject, options: CallOptions): Promise<CallResult>;
  /** Reads the document of an app. Rejects if it cannot be shown. */
  readApp(uri: string, signal: AbortSignal): Promise<AppDocument>;
  /** Refuses new calls and closes the connection when the running calls have ended. */
  retire(): void;
  close(): Promise<void>;
}

interface OpenOptions {
  readonly access: ServerAccess;
  /** Cancels the attempt to connect. */
  readonly signal: AbortSignal;
  readonly onListChanged: (connection: Connection) => void;
  readonly onPromptsChanged: (connection: Connection) => void;
}

/** Connects to the server. Throws a `ConnectError`. Its cause may contain secrets. */
export async function openConnection(
  server: McpServer,
  settings: McpSettings,
  opening: OpenOptions,
): Promise<Connection> {
  if (!settings.negotiate) return connect(server, settings, 'legacy', opening);
  try {
    return await connect(server, settings, 'auto', opening);
  } catch (error) {
    if (!isNegotiationFailure(error) || opening.signal.aborted) throw error;
    return connect(server, settings, 'legacy', opening);
  }
}

/**
 * True if the server did not answer the request for its protocol revisions. Old servers do not support this
 * request.
 */
function isNegotiationFailure(error: unknown): boolean {
  const { cause } = error as ConnectError;
  return SdkError.isInstance(cause) && cause.code === SdkErrorCode.EraNegotiationFailed;
}

async function connect(
  server: McpServer,
  settings: McpSettings,
  mode: 'legacy' | 'auto',
  { signal, onListChanged, onPromptsChanged, access }: OpenOptions,
): Promise<Connection> {
  const wire = createTransport(server, settings, access);
  const client = new Client(
    { name: 'millrace', version: packageVersion() },
    {
      versionNegotiation: { mode },
      capabilities: {
        elicitation: { form: {}, url: {} },
        ...(settings.apps && { extensions: appCapability }),
      },
      inputRequired: { maxRounds: maxQuestionRounds },
      listChanged: {
        tools: { ...onChange, onChanged: paced(() => onListChanged(connection)) },
        prompts: { ...onChange, onChanged: paced(() => onPromptsChanged(connection)) },
      },
    },
  );
  client.fallbackRequestHandler = refuseRequest;
  const elicitations = new Elicitations(server.name);
  elicitations.serve(client);
  const connection = connectionOf(client, wire, settings, elicitations);
  try {
    await client.connect(wire.transport, { signal, timeout: settings.connectTimeoutMs });
    return connection;
  } catch (error) {
    await wire.close();
    throw noConnection(error, wire);
  }
}

const onChange = { autoRefresh: false, debounceMs: 100 } as const;

const neverAborts = new AbortController().signal;

/** Maximum number of times that a server of the revision of 2026 can ask during one call. */
const maxQuestionRounds = 10;

function noConnection(error: unknown, wire: ServerTransport): ConnectError {
  return new ConnectError(error, wire.failureDetails());
}

/**
 * Answers a request of the server with an error. This client does not support sampling and roots.
 */
function refuseRequest({ method }: { readonly method: string }): Promise<never> {
  const message = `This client does not answer ${method}. Put what you need to know into the result of the tool`;
  return Promise.reject(new ProtocolError(ProtocolErrorCode.MethodNotFound, message));
}

function connectionOf(
  client: Client,
  wire: ServerTransport,
  settings: McpSettings,
  elicitations: Elicitations,
): Connection {
  let calls = 0;
  let isRetired = false;
  const endIfIdle = () => {
    if (isRetired && calls === 0) void wire.close();
  };
  return {
    get instructions() {
      return client.getInstructions();
    },
    isOpen: () => !isRetired && client.transport !== undefined,
    isClosed: () => client.transport === undefined,
    failureDetails: () => wire.failureDetails(),
    listTools: async (signal, report) => {
      const hasTools = client.getServerCapabilities()?.tools !== undefined;
      const options = { signal, timeout: settings.connectTimeoutMs };
      return withResourceTools(client, hasTools ? await listTools(client, options, report) : []);
    },
    listPrompts: async (signal) => {
      if (client.getServerCapabilities()?.prompts === undefined) return [];
      const options = { signal, timeout: settings.connectTimeoutMs, cacheMode: 'refresh' } as const;
      return (await client.listPrompts(undefined, options)).prompts;
    },
    getPrompt: (name, given, signal) =>
      client.getPrompt({ name, arguments: { ...given } }, { signal, timeout: settings.timeoutMs }),
    callTool: async (tool, input, { asking, ...options }) => {
      calls++;
      const end = elicitations.begin(asking);
      try {
        return await sendCall(client, tool, input, options).catch(async (error: unknown) => {
          // The server did not run the call. It runs the call after the user was on its pages.
          if (!UrlElicitationRequiredError.isInstance(error)) throw error;
          const signal = options.signal ?? neverAborts;
          if (!(await elicitations.openPages(error.elicitations, signal))) throw error;
          return sendCall(client, tool, input, options);
        });
      } finally {
        end();
        calls--;
        endIfIdle();
      }
    },
    readApp: (uri, signal) =>
      readApp(client, uri, { signal, timeout: settings.timeoutMs }, settings.maxAppBytes),
    retire: () => {
      isRetired = true;
      endIfIdle();
    },
    close: () => wire.close(),
  };
}

/**
 * Calls a tool and validates the result. It uses its own schema if possible, because the schema of the SDK
 * rejects a result with one unknown part. It does not check the output schema of the tool, because the tool
 * has already run.
 */
async function sendCall(
  client: Client,
  tool: RemoteTool,
  input: JsonObject,
  { trace, ...options }: CallOptions,
): Promise<CallResult> {
  const own = callResourceTool(client, tool, input, options);
  if (own !== undefined) return own;
  const { name, inputSchema } = tool;
  const params = { name, arguments: input, ...(trace && { _meta: { ...trace } }) };
  if (client.getProtocolEra() !== 'modern') {
    return client.request({ method: 'tools/call', params }, callResult, options);
  }
  const toolDefinition = { name, inputSchema };
  const result: CallToolResult = await client.callTool(params, { ...options, toolDefinition });
  return callResult.parse(result);
}

/** The original error of a failed connection. It may contain headers, so it must stay inside this package. */
export class ConnectError extends Error {
  readonly failureDetails: string;

  constructor(cause: unknown, failureDetails: string) {
    super('No connection', { cause });
    this.failureDetails = failureDetails;
  }
}

const maxLength = 3_000;

/** Converts the error to a public error without secrets. */
export function cannotConnect(
  server: McpServer,
  error: unknown,
  timeoutMs: number,
  { redact }: ServerAccess,
): McpError {
  const { name } = server;
  const { cause, failureDetails } =
    error instanceof ConnectError ? error : { cause: error, failureDetails: '' };
  const why = [reason(server, cause, timeoutMs), failureDetails].filter((text) => text !== '');
  if (cause instanceof LoginNeededError) return loginRequired(name, cause);
  const reasonText = clip(redact(why.join(' ')), maxLength);
  return new McpError('cannot_connect', `Cannot connect to MCP server ${name}: ${reasonText}`, {
    server: name,
  });
}

/** Creates the error for a server that the user has to log in to. */
export function loginRequired(name: string, { message }: LoginNeededError): McpError {
  const text = `Cannot use MCP server ${name}: ${message}. Log in to it`;
  return new McpError('login_required', text, { server: name });
}

function reason(server: McpServer, error: unknown, timeoutMs: number): string {
  if (isMissing(error)) {
    const { command, cwd } = server.stdio ?? {};
    const place = cwd === undefined ? '' : `, or no folder ${cwd}`;
    return `there is no program ${command}${place}. Install it, or give its path.`;
  }
  if (SdkHttpError.isInstance(error) && [401, 403].includes(error.status)) {
    return `${describeError(error)}. Check the headers option.`;
  }
  if (!SdkError.isInstance(error)) return `${describeError(error)}.`;
  if (error.code === SdkErrorCode.ConnectionClosed) return 'it closed the connection.';
  if (error.code === SdkErrorCode.RequestTimeout) {
    return `it did not answer within ${timeoutMs} ms (connectTimeoutMs).`;
  }
  return `${describeError(error)}.`;
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
