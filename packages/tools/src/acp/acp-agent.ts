import { isAbsolute } from 'node:path';
import type { Agent } from '@millrace/agent';
import {
  type RemoteAgentOptions,
  type RemoteEvent,
  type RemoteRequest,
  remoteAgent,
} from '@millrace/agent/remote';
import { isJsonObject, type JsonObject, type JsonValue, MillraceError } from '@millrace/core';
import { packageVersion } from '../mcp/server/package-version.ts';
import { looksSecret } from '../shell/safe-env.ts';
import { AgentProcess, type ProcessOptions, RpcError } from './agent-process.ts';
import { promptBlocks } from './prompt-blocks.ts';
import { permissionForm, SessionEvents, textIn } from './session-events.ts';

/** Options of `acpAgent`. */
export interface AcpAgentOptions extends RemoteAgentOptions {
  /** The program of the agent, for example `gemini`. It is started without a shell. */
  readonly command: string;
  /** Arguments of the program, for example `['--acp']`. Default: none. */
  readonly args?: readonly string[] | undefined;
  /** The folder in which the agent works. It must be absolute. */
  readonly cwd: string;
  /**
   * Variables of this process that the agent gets besides the list for commands, for example
   * `['GEMINI_API_KEY']`. Default: none.
   */
  readonly allowEnv?: readonly string[] | undefined;
  /** Variables to set. Default: none. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** The login method to use, for agents that require one. Default: none. */
  readonly authMethod?: string | undefined;
  /** The time without a message after which the process ends. The next message starts it again. Default: 10 min. */
  readonly idleMs?: number | undefined;
}

/** An agent that passes its work to a process. */
export interface AcpAgent extends Agent {
  /** Ends the process. A message starts it again. */
  close(): Promise<void>;
}

/**
 * Creates an agent that passes its work to another agent. The other agent runs as a process and speaks the Agent
 * Client Protocol (ACP), for example Gemini CLI, or the adapters for Claude Code and Codex. The texts,
 * reasoning, plans, calls and results of the other agent are streamed to our log.
 *
 * - A permission request is a form, which any client of the session can answer.
 * - A stop cancels the turn of the other agent.
 * - The process has a closed environment. It gets no access to files and terminals through ACP.
 *
 * @example
 * const agent = acpAgent({ command: 'gemini', args: ['--acp'], cwd: '/srv/project', log });
 */
export function acpAgent(options: AcpAgentOptions): AcpAgent {
  const { command, args = [], cwd, allowEnv = [], env = {}, authMethod, idleMs, ...rest } = options;
  if (!isAbsolute(cwd)) {
    const message = `Cannot run the agent ${command} in ${cwd}: the folder must be absolute`;
    throw new MillraceError('bad_option', message, { of: 'acpAgent', option: 'cwd' });
  }
  const connection = new AcpConnection(
    { command, args, cwd, allowEnv, env },
    { authMethod, idleMs: idleMs ?? 600_000 },
  );
  const send = (request: RemoteRequest) => connection.send(request);
  const set = Object.entries(env).filter(([name, value]) => looksSecret(name, value));
  const secrets = [
    ...allowEnv.flatMap((name) => process.env[name] ?? []),
    ...set.map(([, value]) => value),
  ];
  const agent = remoteAgent({ protocol: 'acp', name: command, secrets, send }, rest);
  return { ...agent, close: () => connection.close() };
}

/** The process of an agent that is ready for sessions. */
interface ReadyProcess {
  readonly process: AgentProcess;
  readonly capabilities: JsonObject;
  /** The sessions of the agent that this process has opened, by our session. */
  readonly opened: Map<string, string>;
  /** The prompts that have not ended, by the id of the agent's session. A cancelled prompt can end late. */
  readonly prompts: Map<string, Promise<void>>;
}

/** A turn that receives the updates of its session. */
interface OpenTurn {
  readonly events: SessionEvents;
  push(events: readonly RemoteEvent[]): void;
}

/** Maximum time for the start of the process and of a session. */
const startTimeoutMs = 120_000;
/** Maximum time for the end of a cancelled turn. After it, the process is ended. */
const cancelTimeoutMs = 10_000;

interface Settings {
  readonly authMethod: string | undefined;
  readonly idleMs: number;
}

/** Starts the process on demand, and sends messages to its sessions. */
class AcpConnection {
  readonly #options: ProcessOptions;
  readonly #settings: Settings;
  #running: AgentProcess | undefined;
  #ready: Promise<ReadyProcess> | undefined;
  /** The turns in progress, by the id of the agent's session. */
  readonly #turns = new Map<string, OpenTurn>();
  #closer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: ProcessOptions, settings: Settings) {
    this.#options = options;
    this.#settings = settings;
  }

  async close(): Promise<void> {
    clearTimeout(this.#closer);
    const ready = this.#ready;
    this.#ready = undefined;
    await (await ready?.catch(() => undefined))?.process.close();
  }

  async *send(request: RemoteRequest): AsyncGenerator<RemoteEvent> {
    const { session, signal } = request;
    clearTimeout(this.#closer);
    const ready = await this.#start();
    const { id, isNew } = await this.#openSession(ready, request);
    yield { type: 'memory', value: { session, remote: id } };
    await ready.prompts.get(id);
    signal.throwIfAborted();
    const queue = new EventQueue();
    const events = new SessionEvents();
    const turn: OpenTurn = { events, push: (more) => queue.push(more) };
    this.#turns.set(id, turn);
    const cancel = () => void this.#cancel(ready, id);
    signal.addEventListener('abort', cancel, { once: true });
    try {
      const params = { sessionId: id, prompt: promptBlocks(request, ready.capabilities, isNew) };
      const prompt = ready.process.request('session/prompt', params).then(
        (result) => queue.push([...events.sendCalls(), endOf(textIn(result, 'stopReason'))]),
        (error: unknown) => queue.push([failure(error)]),
      );
      ready.prompts.set(id, prompt);
      yield* queue.events();
    } finally {
      signal.removeEventListener('abort', cancel);
      // After a stop, the next turn can start before this one has ended.
      if (this.#turns.get(id) === turn) this.#turns.delete(id);
      if (this.#turns.size === 0) this.#closeLater();
    }
  }

  /** Cancels a turn. An agent that does not end it in time is ended. */
  async #cancel({ process: running, prompts }: ReadyProcess, id: string): Promise<void> {
    running.notify('session/cancel', { sessionId: id });
    const late = setTimeout(() => void running.close(), cancelTimeoutMs);
    await prompts.get(id);
    clearTimeout(late);
  }

  #closeLater(): void {
    clearTimeout(this.#closer);
    this.#closer = setTimeout(() => void this.close(), this.#settings.idleMs);
    this.#closer.unref();
  }

  #start(): Promise<ReadyProcess> {
    if (this.#running?.isClosed) this.#ready = undefined;
    this.#ready ??= this.#open().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #open(): Promise<ReadyProcess> {
    const running = new AgentProcess(this.#options, {
      onNotification: (method, { sessionId, update }) => {
        const turn = typeof sessionId === 'string' ? this.#turns.get(sessionId) : undefined;
        if (method !== 'session/update' || turn === undefined || !isJsonObject(update)) return;
        turn.push(turn.events.update(update));
      },
      onRequest: (method, params) => this.#answer(method, params),
    });
    this.#running = running;
    const { command } = this.#options;
    try {
      const result = await within(
        running.request('initialize', {
          protocolVersion: 1,
          clientCapabilities: {
            fs: { readTextFile: false, writeTextFile: false },
            terminal: false,
          },
          clientInfo: { name: 'millrace', title: 'Millrace', version: packageVersion() },
        }),
      );
      const version = isJsonObject(result) ? result['protocolVersion'] : undefined;
      if (version !== 1) throw new Error(`It speaks version ${version} of ACP, and not version 1`);
      const { authMethod: methodId } = this.#settings;
      if (methodId !== undefined) await within(running.request('authenticate', { methodId }));
      const given = isJsonObject(result) ? result['agentCapabilities'] : {};
      return {
        ...{ process: running, opened: new Map(), prompts: new Map() },
        capabilities: isJsonObject(given) ? given : {},
      };
    } catch (error) {
      await running.close();
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(`Cannot start the agent ${command}: ${why}`, { cause: error });
    }
  }

  /** Opens the session of the agent that belongs to our session. */
  async #openSession(
    { process: running, capabilities, opened }: ReadyProcess,
    { session, memory }: RemoteRequest,
  ): Promise<{ readonly id: string; readonly isNew: boolean }> {
    const known = opened.get(session);
    const remembered = textIn(memory, 'session') === session ? textIn(memory, 'remote') : undefined;
    if (known !== undefined && known === remembered) return { id: known, isNew: false };
    const about = { cwd: this.#options.cwd, mcpServers: [] };
    if (remembered !== undefined && capabilities['loadSession'] === true) {
      const params = { ...about, sessionId: remembered };
      const isLoaded = await within(running.request('session/load', params)).then(
        () => true,
        () => false,
      );
      if (isLoaded) opened.set(session, remembered);
      if (isLoaded) return { id: remembered, isNew: false };
    }
    const result = await within(running.request('session/new', about));
    const id = textIn(result, 'sessionId');
    if (id === undefined) throw new Error('The agent created a session without an id');
    opened.set(session, id);
    return { id, isNew: true };
  }

  async #answer(method: string, params: JsonObject): Promise<JsonValue> {
    if (method !== 'session/request_permission')
      throw new RpcError(-32_601, `The client does not offer ${method}`);
    const turn = this.#turns.get(textIn(params, 'sessionId') ?? '');
    if (turn === undefined) return { outcome: { outcome: 'cancelled' } };
    const { toolCall } = params;
    const call = textIn(toolCall, 'toolCallId');
    if (isJsonObject(toolCall)) turn.push(turn.events.call(toolCall, true));
    // The request can leave out what the agent said before, so the form shows the newest description.
    const about = turn.events.described(call) ?? toolCall ?? null;
    const { form, outcome } = permissionForm({ ...params, toolCall: about });
    const { promise, resolve: answer } = Promise.withResolvers<JsonValue>();
    turn.push([{ type: 'question', call, form, answer: (given) => answer(outcome(given)) }]);
    return promise;
  }
}

/**
 * The events of a turn that the reader has not received yet. `RemoteTurn` limits the number and the length of
 * the events that wait.
 */
class EventQueue {
  #events: RemoteEvent[] = [];
  #isOver = false;
  #changed = Promise.withResolvers<void>();

  push(events: readonly RemoteEvent[]): void {
    if (this.#isOver) return cancelQuestions(events);
    this.#events.push(...events);
    this.#changed.resolve();
  }

  /** Yields the events up to the end. Questions that the reader does not get are cancelled. */
  async *events(): AsyncGenerator<RemoteEvent> {
    let [taken, count]: [RemoteEvent[], number] = [[], 0];
    try {
      for (;;) {
        await this.#changed.promise;
        this.#changed = Promise.withResolvers();
        [taken, count] = [this.#events.splice(0), 0];
        for (const event of taken) {
          count++;
          yield event;
          if (event.type === 'end') return;
        }
      }
    } finally {
      this.#isOver = true;
      cancelQuestions([...taken.slice(count), ...this.#events.splice(0)]);
    }
  }
}

function cancelQuestions(events: readonly RemoteEvent[]): void {
  for (const event of events) if (event.type === 'question') event.answer({ action: 'cancel' });
}

async function within<T>(work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const late = () => reject(new Error(`It did not answer within ${startTimeoutMs} ms`));
  const timer = setTimeout(late, startTimeoutMs);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}

function endOf(reason: string | undefined): RemoteEvent {
  const reasons = { max_tokens: 'length', refusal: 'refusal', cancelled: 'aborted' } as const;
  const known = Object.entries(reasons).find(([name]) => name === reason)?.[1] ?? 'stop';
  return { type: 'end', stop: { reason: known, ...(reason !== undefined && { raw: reason }) } };
}

function failure(error: unknown): RemoteEvent {
  const problem = error instanceof Error ? error.message : String(error);
  return { type: 'end', stop: { reason: 'error' }, problem: `The agent failed: ${problem}` };
}
