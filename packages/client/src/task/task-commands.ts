import type { JsonObject } from '@millrace/core';
import { ClientError } from '../contract/client-error.ts';
import {
  type AgentInfo,
  type Attachment,
  kindOf,
  type MessageContent,
  type Task,
  type TaskWithAgents,
} from '../contract/server-types.ts';
import type {
  ApproveOptions,
  AppToolCall,
  Cancelable,
  CommandOptions,
  DenyOptions,
  SendOptions,
  Sent,
  SentAppCall,
  ToolResultOptions,
  UploadOptions,
} from '../contract/task-handle.ts';
import type { Http } from '../http/http.ts';
import { asObject, errorOf } from '../http/refusal.ts';
import { rpc, startRpcStream } from '../http/rpc.ts';

interface TaskCommandsOptions {
  readonly http: Http;
  readonly id: string;
  /** The path of the task's routes. */
  readonly path: string;
  readonly newKey: () => string;
}

/** Sends commands to a task. */
export class TaskCommands {
  readonly #http: Http;
  readonly #id: string;
  readonly #path: string;
  readonly #newKey: () => string;
  #agent: AgentInfo | undefined;

  constructor({ http, id, path, newKey }: TaskCommandsOptions) {
    this.#http = http;
    this.#id = id;
    this.#path = path;
    this.#newKey = newKey;
  }

  /** Sends a message with the method for this kind of agent. */
  async send(
    input: string | MessageContent,
    { when = 'follow_up', model, key = this.#newKey(), signal }: SendOptions,
  ): Promise<Sent> {
    const content = userContent(input);
    const { name: agent, ...info } = await this.#agentOf({ signal });
    const kind = kindOf({ name: agent, ...info });
    if (kind === 'loop') {
      const type = when === 'steer' ? 'steer' : 'message';
      return this.#submit({ type, content, ...defined({ model }) }, { key, signal });
    }
    if (when === 'steer') throw this.#cannotSteer(agent);
    const params = { task_id: this.#id, content };
    const call = { what: `send to task ${this.#id}`, agent, key, signal };
    if (kind === 'async') {
      const event = await rpc(this.#http, { ...call, method: 'event/send', params, isSafe: true });
      return { key, offset: asOffset(asObject(event)['sequence_id']) };
    }
    const streaming = { ...params, stream: true };
    const method = 'message/send';
    await startRpcStream(this.#http, { ...call, method, params: streaming, isSafe: true });
    return { key, offset: undefined };
  }

  /** Starts a new run without a new message. Only agent loops support this. */
  retry(options: CommandOptions): Promise<Sent> {
    return this.#submit({ type: 'retry' }, options);
  }

  /** Withdraws a queued message. Only agent loops have a queue of messages. */
  withdraw(key: string, options: CommandOptions): Promise<Sent> {
    return this.#submit({ type: 'withdraw', key }, options);
  }

  approve(tool_call_id: string, { by, input, until, ...options }: ApproveOptions): Promise<Sent> {
    const more = defined({ by, input, until });
    return this.#submit({ type: 'approve', tool_call_id, ...more }, options);
  }

  deny(tool_call_id: string, { by, reason, ...options }: DenyOptions): Promise<Sent> {
    return this.#submit({ type: 'deny', tool_call_id, ...defined({ by, reason }) }, options);
  }

  provideToolResult(tool_call_id: string, result: ToolResultOptions): Promise<Sent> {
    const { by, output, error, ...options } = result;
    const more = defined({ by, output, error });
    return this.#submit({ type: 'tool_output', tool_call_id, ...more }, options);
  }

  /** Calls a tool for the MCP app of a tool call. */
  async callAppTool(
    tool_call_id: string,
    { name, arguments: given, key = this.#newKey(), signal }: AppToolCall,
  ): Promise<SentAppCall> {
    const { value } = await this.#http.json({
      ...{ what: `call a tool for an app of task ${this.#id}`, method: 'POST' },
      ...{ path: `${this.#path}/app-calls`, key, signal, isSafe: true },
      body: { tool_call_id, name, arguments: given },
    });
    const { task_id: taskId, tool_call_id: toolCallId } = asObject(value);
    return { taskId: String(taskId), toolCallId: String(toolCallId) };
  }

  /** Interrupts the task. It has no effect if the task is not running. */
  async stop(reason: string | undefined, options: Cancelable): Promise<Task> {
    return this.#change('interrupt', reason, options, () => true);
  }

  /**
   * Cancels the task. If the first response was lost, the repeated request finds a canceled task. This counts
   * as success.
   */
  async cancel(reason: string | undefined, options: Cancelable): Promise<Task> {
    return this.#change('cancel', reason, options, (status) => status === 'CANCELED');
  }

  /** Uploads a file. A failed upload is repeated, because the same file always gets the same id. */
  async upload(file: Blob, { name, type, signal }: UploadOptions): Promise<Attachment> {
    const what = `upload a file to task ${this.#id}`;
    const query = { name, type: type || file.type || undefined };
    const call = { what, method: 'POST', path: `${this.#path}/files`, query, signal } as const;
    // The upload has no timeout, because its duration depends on the size of the file.
    const { value } = await this.#http.json({ ...call, file, isSafe: true, isPatient: true });
    return value as unknown as Attachment;
  }

  async blob(hash: string, { signal }: Cancelable): Promise<Blob> {
    const what = `get a blob of task ${this.#id}`;
    const path = `${this.#path}/blobs/${encodeURIComponent(hash)}`;
    const response = await this.#http.send({ what, path, signal, isSafe: true });
    if (!response.ok) throw await errorOf(response, what);
    return response.blob();
  }

  async #submit(body: JsonObject, { key = this.#newKey(), signal }: CommandOptions): Promise<Sent> {
    const what = `give a command to task ${this.#id}`;
    const { value } = await this.#http.json({
      ...{ what, method: 'POST', path: `${this.#path}/commands` },
      ...{ body, key, signal, isSafe: true },
    });
    return { key, offset: asOffset(asObject(value)['offset']) };
  }

  async #change(
    change: 'interrupt' | 'cancel',
    reason: string | undefined,
    { signal }: Cancelable,
    isDone: (status: unknown) => boolean,
  ): Promise<Task> {
    const what = `${change} task ${this.#id}`;
    try {
      const { value } = await this.#http.json({
        ...{ what, method: 'POST', path: `${this.#path}/${change}` },
        ...{ body: defined({ reason }), signal, isSafe: true },
      });
      return value as unknown as Task;
    } catch (error) {
      const isState = error instanceof ClientError && error.code === 'bad_state';
      if (!isState || !isDone(error.details?.['status'])) throw error;
      const { agents: _, ...task } = await this.#read({ signal });
      return task;
    }
  }

  async #read({ signal }: Cancelable): Promise<TaskWithAgents> {
    const what = `read task ${this.#id}`;
    const query = { relationships: 'agents' };
    const { value } = await this.#http.json({
      ...{ what, path: this.#path, query, signal, isSafe: true },
    });
    return value as unknown as TaskWithAgents;
  }

  /** Returns the agent of the task. It is requested only once, because the agent of a task never changes. */
  async #agentOf(options: Cancelable): Promise<AgentInfo> {
    this.#agent ??= (await this.#read(options)).agents?.[0];
    if (this.#agent !== undefined) return this.#agent;
    const message = `Cannot send to task ${this.#id}: its agent is not known any more`;
    throw new ClientError('bad_state', message, { task: this.#id });
  }

  #cannotSteer(agent: string): ClientError {
    const message = `Cannot steer task ${this.#id}: agent ${agent} takes one message at a time. Send a follow-up, or stop it`;
    return new ClientError('bad_state', message, { task: this.#id });
  }
}

function asOffset(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function defined(fields: Readonly<Record<string, JsonObject[string] | undefined>>): JsonObject {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as JsonObject;
}

/** Converts a message to the format that the server accepts. */
export function userContent(input: string | MessageContent): JsonObject {
  const content = typeof input === 'string' ? { type: 'text', content: input } : input;
  return { ...(content as JsonObject), author: 'user' };
}
