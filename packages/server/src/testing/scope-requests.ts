import type { ServedAgent } from '../contract/served-agent.ts';
import { createServer, type Server, type ServerOptions } from '../create-server.ts';
import { allRoutes } from '../routes/all-routes.ts';
import { testToken } from './servers/test-server.ts';

// This file has requests for every operation of the server, and two agents whose data must stay separate.

const answer = { type: 'text', author: 'agent', content: 'classified' } as const;

/** Creates an agent whose answers other agents must not see. */
const secretAgent = (name: string): ServedAgent => ({
  ...{ type: 'sync', name },
  onMessage: async () => answer,
});

/** The ids and names of everything that belongs to one agent, by the parameter names of the API. */
export interface AgentData {
  readonly agent_id: string;
  readonly agent_name: string;
  readonly task_id: string;
  readonly task_name: string;
  /** The id of a chat, which is the name of its task. */
  readonly chat_id: string;
  /** The id of a thread of AG-UI, which is the name of its task. */
  readonly thread_id: string;
  /** The id of a conversation in the format of OpenAI, which is the id of its task. */
  readonly conversation_id: string;
  readonly message_id: string;
  readonly event_id: string;
  readonly state_id: string;
  readonly span_id: string;
  readonly tracker_id: string;
  readonly token_id: string;
  readonly hash: string;
  readonly file_id: string;
  /** The id of a response in the format of OpenAI. */
  readonly response_id: string;
  /** The name of the agent, as the OpenAI-compatible endpoints call it. */
  readonly model: string;
  /** The path of a stream of the task. */
  readonly path: string;
}

/** Ids of resources that do not exist. */
export const nothing: AgentData = {
  ...{ agent_id: 'a'.repeat(24), agent_name: 'no-agent', task_id: 'b'.repeat(24) },
  ...{ task_name: 'no such task', chat_id: 'no such task', thread_id: 'no such task' },
  ...{ message_id: `${'b'.repeat(24)}.0.0.x`, hash: '0'.repeat(64), file_id: 'file_0' },
  ...{ event_id: `${'b'.repeat(24)}.1`, state_id: 'no-state', span_id: 'no-span' },
  ...{ tracker_id: 'b'.repeat(24), token_id: 'e'.repeat(64), model: 'no-agent' },
  response_id: `resp_${'b'.repeat(24)}_1`,
  conversation_id: 'b'.repeat(24),
  path: `tasks/${'b'.repeat(24)}/notes`,
};

// biome-ignore lint/suspicious/noExplicitAny: a test looks into answers of any shape
export type Json = any;

export interface TestAnswer {
  readonly status: number;
  readonly text: string;
}

type Fill = (of: AgentData) => unknown;

const secretContent = { type: 'text', author: 'user', content: 'classified' };
export const textChat = { role: 'user', parts: [{ type: 'text', text: 'hi' }] };
const rpc: Fill = ({ task_id }) => ({
  method: 'message/send',
  params: { task_id, content: secretContent },
});

/** Returns a message of A2A. */
function sentTo(contextId: string) {
  return { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'hi' }], contextId };
}

/** For each operation, a body and a query with ids of an agent's resources. */
const inputs: Readonly<Record<string, { readonly body?: Fill; readonly query?: Fill }>> = {
  'POST /agents/{agent_id}/rpc': { body: rpc },
  'POST /agents/name/{agent_name}/rpc': { body: rpc },
  'POST /agents/register': {
    body: ({ agent_name: name }) => ({
      ...{ name, description: '', acp_url: 'http://127.0.0.1:1', acp_type: 'sync' },
    }),
  },
  'POST /agents/register-build': {
    body: ({ agent_name: name }) => ({ name, description: '' }),
  },
  'PUT /tasks/{task_id}': { body: () => ({ task_metadata: {} }) },
  'PUT /tasks/name/{task_name}': { body: () => ({ task_metadata: {} }) },
  'POST /tasks/{task_id}/commands': { body: () => ({ type: 'abort' }) },
  'POST /tasks/{task_id}/app-calls': {
    body: () => ({ tool_call_id: 'call_1', name: 'refresh', arguments: {} }),
  },
  'POST /tasks/{task_id}/fork': { body: () => ({}) },
  'POST /tasks/{task_id}/branch': { body: () => ({ at: 1, content: secretContent }) },
  'GET /tasks/{task_id}/diff': { query: ({ task_id }) => ({ other: task_id }) },
  'GET /tasks/{task_id}/divergence': { query: ({ task_id }) => ({ other: task_id }) },
  'POST /tasks/{task_id}/files': {
    body: () => new Blob(['classified']),
    query: () => ({ name: 'note.txt' }),
  },
  'GET /tasks/{task_id}/request': { query: () => ({ turn: 1 }) },
  'POST /agents/name/{agent_name}/chat': {
    body: ({ task_name: id }) => ({ id, messages: [textChat] }),
  },
  'POST /agents/name/{agent_name}/ag-ui': {
    body: ({ task_name: threadId }) => ({
      ...{ threadId, runId: 'r1', messages: [{ id: 'm1', role: 'user', content: 'hi' }] },
    }),
  },
  'POST /v1/responses': {
    body: ({ agent_name: model, task_id: conversation }) => ({ model, input: 'hi', conversation }),
  },
  'POST /v1/chat/completions': {
    body: ({ agent_name: model }) => ({ model, messages: [{ role: 'user', content: 'hi' }] }),
  },
  'POST /mcp': {
    body: ({ task_id }) => ({
      ...{ jsonrpc: '2.0', id: 1, method: 'resources/read' },
      params: { uri: `millrace://sessions/${task_id}` },
    }),
  },
  'POST /agents/name/{agent_name}/a2a': {
    body: ({ task_name: contextId }) => ({
      ...{ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: sentTo(contextId) } },
    }),
  },
  'POST /agents/name/{agent_name}/a2a/message:send': {
    body: ({ task_name }) => ({ message: sentTo(task_name) }),
  },
  'POST /agents/name/{agent_name}/a2a/message:stream': {
    body: ({ task_name }) => ({ message: sentTo(task_name) }),
  },
  'POST /agents/name/{agent_name}/a2a/tasks/{task_id}': { body: () => ({}) },
  'POST /agents/name/{agent_name}/a2a/tasks/{task_id}/pushNotificationConfigs': {
    body: () => ({ url: 'https://hooks.example' }),
  },
  'POST /streams/{path*}': { body: () => new Blob(['classified']) },
  'GET /messages': { query: ({ task_id }) => ({ task_id }) },
  'GET /messages/paginated': { query: ({ task_id }) => ({ task_id }) },
  'POST /messages': { body: ({ task_id }) => ({ task_id, content: secretContent }) },
  'POST /messages/batch': { body: ({ task_id }) => ({ task_id, contents: [secretContent] }) },
  'PUT /messages/{message_id}': { body: ({ task_id }) => ({ task_id, content: secretContent }) },
  'PUT /messages/batch': {
    body: ({ task_id, message_id }) => ({ task_id, updates: { [message_id]: secretContent } }),
  },
  'GET /events': { query: ({ task_id, agent_id }) => ({ task_id, agent_id }) },
  'POST /states': { body: ({ task_id, agent_id }) => ({ task_id, agent_id, state: {} }) },
  'GET /states': { query: ({ task_id }) => ({ task_id }) },
  'PUT /states/{state_id}': { body: () => ({ state: {} }) },
  'POST /spans': {
    body: ({ task_id }) => ({
      ...{ trace_id: 'trace', name: 'x', start_time: '2026-01-01T00:00:00Z', task_id },
    }),
  },
  'GET /spans': { query: ({ task_id }) => ({ task_id }) },
  'PATCH /spans/{span_id}': { body: () => ({ name: 'y' }) },
  'GET /tracker': { query: ({ task_id }) => ({ task_id }) },
  'PUT /tracker/{tracker_id}': { body: () => ({ status: 'x' }) },
  'GET /agents': { query: ({ task_id }) => ({ task_id }) },
  'GET /tasks': { query: ({ agent_id }) => ({ agent_id }) },
  // A page with one experiment can have a cursor.
  'GET /experiments': { query: () => ({ limit: '1' }) },
  'GET /search': { query: () => ({ text: 'classified' }) },
  'POST /tokens': { body: ({ agent_id }) => ({ agent_id }) },
};

const fileType = 'application/octet-stream';
const isBodyOptional = /\/(?:complete|fail|cancel|interrupt|terminate|timeout)$/;

/** All operations. Deletions come last, because the other operations need the resources. */
const operations = allRoutes
  .map(({ method, path, access, body }) => ({
    ...{ name: `${method} ${path}`, method, path, access, hasBody: body !== undefined },
  }))
  .toSorted((a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'));

/** The operations that need a token. */
export const guarded = operations.filter(({ access }) => access !== 'public');
/**
 * The operations that refuse a caller with an HTTP status. MCP and A2A have their own errors, which
 * `mcp-access.attack.test.ts` and `a2a-access.attack.test.ts` check.
 */
export const guardedByStatus = guarded.filter(
  ({ path }) => !/^\/mcp$|\/a2a(?:\/|$)|agent-card/.test(path),
);
type Operation = (typeof operations)[number];

/** Returns a valid body for an operation. Returns undefined if the operation has no body. */
export function bodyOf({ name, hasBody }: Operation, of: AgentData): Json {
  const body = inputs[name]?.body?.(of);
  if (body !== undefined || !hasBody) return body;
  if (isBodyOptional.test(name)) return {};
  throw new Error(`Add a body for ${name}`);
}

/** Returns a text that a test passes instead of a token, to send the request as a user of the application. */
export const asUser = (user: string): string => `user=${user}`;

function credentials(token: string): Readonly<Record<string, string>> {
  return token.startsWith(asUser('')) ? { cookie: token } : { authorization: `Bearer ${token}` };
}

/** Returns the user in the cookie that `asUser` creates. Tests use it as `authorize`. */
export const userOfCookie: NonNullable<ServerOptions['authorize']> = ({ headers }) => {
  const [, user] = /user=(\w+)/.exec(headers.get('cookie') ?? '') ?? [];
  return user === undefined ? undefined : { user };
};

/** A server on a real socket. Its operator token is `testToken('operator')`. */
export class ScopeServer implements AsyncDisposable {
  readonly url: string;
  readonly #server: Server;

  private constructor(server: Server, url: string) {
    this.#server = server;
    this.url = url;
  }

  static async start(options: Partial<ServerOptions> = {}): Promise<ScopeServer> {
    const agents = [secretAgent('own'), secretAgent('others')];
    const limits = { wrongTokensPerSecond: 1e6, wrongTokenBurst: 1e6 };
    const tokens = [testToken('operator')];
    const server = createServer({ agents, tokens, limits, ...options });
    return new ScopeServer(server, (await server.listen({ port: 0 })).url);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.close();
  }

  async ask(
    token: string | undefined,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<TestAnswer> {
    const isFile = body instanceof Blob;
    const response = await fetch(new URL(path, this.url), {
      method,
      headers: {
        ...(token !== undefined && credentials(token)),
        ...(body !== undefined && { 'content-type': isFile ? fileType : 'application/json' }),
      },
      body: body === undefined ? null : isFile ? body : JSON.stringify(body),
    });
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
    if (isStream) await response.body?.cancel();
    return { status: response.status, text: isStream ? '' : await response.text() };
  }

  /** Sends a valid request for the operation. The request contains ids of an agent's resources. */
  send(
    token: string | undefined,
    operation: Operation,
    of: AgentData,
    body: unknown = bodyOf(operation, of),
  ): Promise<TestAnswer> {
    const { name, method, path } = operation;
    const filled = path
      .replace('{path*}', of.path)
      .replaceAll(/\{(\w+)\}/g, (_, field: keyof AgentData) =>
        encodeURIComponent(of[field] ?? 'nothing'),
      );
    const search = new URLSearchParams((inputs[name]?.query?.(of) ?? {}) as Record<string, string>);
    return this.ask(token, method, `${filled}?${search}`, body);
  }

  asOperator(method: string, path: string, body?: unknown): Promise<Json> {
    return this.#accepted(testToken('operator'), method, path, body);
  }

  async #accepted(by: string, method: string, path: string, body?: unknown): Promise<Json> {
    const { status, text } = await this.ask(by, method, path, body);
    if (status >= 300) throw new Error(`${method} ${path} failed with ${status}: ${text}`);
    return JSON.parse(text);
  }

  async createToken(body: object): Promise<string> {
    return (await this.asOperator('POST', '/tokens', body)).token;
  }

  /** Creates one resource of each kind for an agent. `by` is a token or a user. */
  async createData(agent_name: string, by = testToken('operator')): Promise<AgentData> {
    const post = (path: string, body: unknown) => this.#accepted(by, 'POST', path, body);
    const { id: agent_id } = await this.asOperator('GET', `/agents/name/${agent_name}`);
    const task_name = `task of ${agent_name}`;
    const create = { method: 'task/create', params: { name: task_name } };
    const { result: task } = await post(`/agents/${agent_id}/rpc`, create);
    const task_id = task.id as string;
    const message = await post('/messages', { task_id, content: secretContent });
    const state = { task_id, agent_id, state: { a: 'classified' } };
    const { id: state_id } = await post('/states', state);
    const start_time = '2026-01-01T00:00:00Z';
    const span = { trace_id: 'trace', name: 'classified', start_time, task_id };
    const { id: span_id } = await post('/spans', span);
    const file = await post(`/tasks/${task_id}/files?name=a.txt`, new Blob(['classified']));
    const { id: token_id } = await this.asOperator('POST', '/tokens', { agent_id });
    const path = `tasks/${task_id}/notes`;
    await this.ask(by, 'PUT', `/streams/${path}`, new Blob(['classified']));
    return {
      ...{
        agent_id,
        agent_name,
        task_id,
        conversation_id: task_id,
        task_name,
        chat_id: task_name,
        thread_id: task_name,
        state_id,
      },
      ...{ message_id: message.id, event_id: `${task_id}.1`, span_id, tracker_id: task_id },
      ...{ token_id, hash: nothing.hash, file_id: file.file_id, model: agent_name },
      response_id: `resp_${task_id}_1`,
      path,
    };
  }
}
