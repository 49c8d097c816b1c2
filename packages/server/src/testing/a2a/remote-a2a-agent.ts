import { once } from 'node:events';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { AgentCard, type Part, Role, StreamResponse } from '@a2a-js/sdk';
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  type RequestContext,
} from '@a2a-js/sdk/server';
import {
  agentCardHandler,
  jsonRpcHandler,
  restHandler,
  UserBuilder,
} from '@a2a-js/sdk/server/express';
import { onTestFinished } from 'vitest';
import { textOf } from './a2a-client.ts';

/** What a remote agent can do while it works on a message. */
export interface RemoteTurn {
  readonly text: string;
  readonly contextId: string;
  readonly taskId: string;
  /** The number of messages that the task had before. */
  readonly earlier: number;
  /** True after the task was cancelled. */
  isCancelled(): boolean;
  cancelled(): Promise<void>;
  /** Publishes an event in the JSON format of the protocol. The ids are added. */
  publish(event: { readonly [kind: string]: object }): void;
  status(state: string, text?: string, more?: object): void;
  write(artifactId: string, text: string, append?: boolean, lastChunk?: boolean): void;
}

type Cancellation = PromiseWithResolvers<void> & { isDone?: boolean };

interface RemoteOptions {
  readonly binding?: 'JSONRPC' | 'HTTP+JSON' | undefined;
  readonly streaming?: boolean | undefined;
  /** The origin in the card. Default: the own origin. */
  readonly origin?: string | undefined;
}

/** Serves an agent with the server of `@a2a-js/sdk` and Express, and returns its address. */
export async function serveRemoteA2a(
  onMessage: (turn: RemoteTurn) => Promise<void>,
  { binding = 'JSONRPC', streaming = true, origin }: RemoteOptions = {},
) {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const card = AgentCard.fromJSON({
    ...{ name: 'remote', description: 'A remote agent', version: '1.0.0', skills: [] },
    ...{ capabilities: { streaming }, defaultInputModes: ['text/plain'] },
    supportedInterfaces: [
      { url: `${origin ?? url}/a2a`, protocolBinding: binding, protocolVersion: '1.0' },
    ],
  });
  const cancels = new Map<string, Cancellation>();
  const cancelOf = (id: string): Cancellation => {
    const known: Cancellation = cancels.get(id) ?? Promise.withResolvers<void>();
    cancels.set(id, known);
    return known;
  };
  const executor: AgentExecutor = {
    execute: async (context, bus) => {
      const { taskId } = context;
      await onMessage(turnOf(context, bus, cancelOf(taskId)));
      bus.finished();
    },
    cancelTask: async (taskId, bus) => {
      const done = cancelOf(taskId);
      done.isDone = true;
      done.resolve();
      publishTo(bus, {
        statusUpdate: { taskId, contextId: '', status: { state: 'TASK_STATE_CANCELED' } },
      });
      bus.finished();
    },
  };
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
  // Express has no types of its own.
  const express = createRequire(import.meta.url)('express') as () => {
    use(path: string, handler: unknown): void;
  };
  const app = express();
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
  const options = { requestHandler, userBuilder: UserBuilder.noAuthentication };
  app.use('/a2a', binding === 'JSONRPC' ? jsonRpcHandler(options) : restHandler(options));
  server.on('request', app as never);
  return { url, port };
}

function publishTo(bus: ExecutionEventBus, event: object): void {
  const { payload } = StreamResponse.fromJSON(event);
  if (payload?.$case === 'task') bus.publish(AgentEvent.task(payload.value));
  if (payload?.$case === 'message') bus.publish(AgentEvent.message(payload.value));
  if (payload?.$case === 'statusUpdate') bus.publish(AgentEvent.statusUpdate(payload.value));
  if (payload?.$case === 'artifactUpdate') bus.publish(AgentEvent.artifactUpdate(payload.value));
}

function turnOf(
  { taskId, contextId, userMessage, task }: RequestContext,
  bus: ExecutionEventBus,
  cancel: Cancellation,
): RemoteTurn {
  const ids = { taskId, contextId };
  const publish: RemoteTurn['publish'] = (event) => {
    const [[kind, value] = ['', {}]] = Object.entries(event);
    publishTo(bus, {
      [kind]: kind === 'task' ? { id: taskId, ...ids, ...value } : { ...ids, ...value },
    });
  };
  let messages = 0;
  return {
    ...{ ...ids, publish, text: textOf(userMessage.parts as readonly Part[]) },
    earlier: task?.history.filter(({ role }) => role === Role.ROLE_USER).length ?? 0,
    isCancelled: () => cancel.isDone === true,
    cancelled: () => cancel.promise,
    status: (state, text, more = {}) => {
      const messageId = `${taskId}-${task?.history.length ?? 0}-${++messages}`;
      const message = { messageId, role: 'ROLE_AGENT', parts: [{ text, ...more }], ...ids };
      const status = { state: `TASK_STATE_${state}`, ...(text !== undefined && { message }) };
      const isFirst = task === undefined && state === 'SUBMITTED';
      publish(isFirst ? { task: { status } } : { statusUpdate: { status } });
    },
    write: (artifactId, text, append = false, lastChunk = false) =>
      publish({
        artifactUpdate: { artifact: { artifactId, parts: [{ text }] }, append, lastChunk },
      }),
  };
}
