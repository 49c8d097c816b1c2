import type { SpanExporter } from '@millrace/agent';
import type { Ids, JsonObject } from '@millrace/core';
import type { Clock, Log } from '@millrace/log';
import { contentSchema } from '../../contract/content.ts';
import type { Rows } from '../../contract/rows.ts';
import type {
  HandlerContext,
  HandlerEvents,
  HandlerMessages,
  HandlerState,
} from '../../contract/served-agent.ts';
import { ServerError } from '../../contract/server-error.ts';
import type { SpanService } from '../../contract/service.ts';
import type { AgentInfo, Task } from '../../contract/task.ts';
import type { JournalTurn, TaskJournal } from '../../contract/task-journal.ts';
import { messageDrafts } from '../../messages/message-drafts.ts';
import type { FileStore } from '../../stores/file-store.ts';
import { putState, stateId } from '../../stores/row-services.ts';
import { listEvents } from '../../stores/task-events.ts';
import { messagesOf } from '../../updates/task-messages.ts';
import { toItems } from '../../updates/to-items.ts';
import { createStreaming } from './message-streaming.ts';
import { createTracing, traceOfRun } from './tracing.ts';
import { TurnContext } from './turn-context.ts';

interface ContextOptions {
  readonly task: Task;
  readonly agent: AgentInfo;
  readonly journal: TaskJournal;
  readonly turn: JournalTurn;
  readonly signal: AbortSignal;
  readonly firstIndex: number;
  readonly services: {
    readonly log: Log;
    readonly rows: Rows;
    readonly clock: Clock;
    readonly ids: Ids;
    readonly spans: SpanService;
    readonly files: FileStore;
    readonly exporter?: SpanExporter | undefined;
  };
}

/** Creates the context of one handler call. */
export function createContext(options: ContextOptions): HandlerContext {
  const { task, agent, signal, services } = options;
  const { clock, ids, spans, exporter } = services;
  const trace = traceOfRun(options.turn);
  const turnContext = new TurnContext({ ...options, ids, trace });
  const makeName = () => `${options.turn.runId} ${ids.execution()}`;
  return {
    ...{ task, agent, signal, trace, toItems },
    messages: messagesFor(options),
    state: stateFor(options),
    events: eventsFor(options),
    files: { read: (fileId) => services.files.read(task.id, fileId) },
    tracing: createTracing({ taskId: task.id, trace, spans, exporter, clock, makeName }),
    stream: createStreaming(turnContext),
  };
}

function messagesFor({ journal, turn, services, signal }: ContextOptions): HandlerMessages {
  const { ids } = services;
  return {
    list: async () => messagesOf(await journal.state()),
    async create(content) {
      if (signal.aborted) throw handlerStopped(journal.taskId);
      const drafts = messageDrafts(contentSchema.parse(content), ids);
      const [first] = drafts.flatMap(({ delta }) =>
        delta?.type === 'commit_part' ? delta.partId : [],
      );
      // The turn refuses the drafts if the handler has already ended.
      await turn.append(drafts);
      const id = `${journal.taskId}.${first}`;
      const created = messagesOf(await journal.state()).find((message) => message.id === id);
      if (created === undefined) throw handlerStopped(journal.taskId);
      return created;
    },
  };
}

function stateFor({ task, agent, services: { rows } }: ContextOptions): HandlerState {
  const owner = { taskId: task.id, agentId: agent.id };
  return {
    async get() {
      const row = await rows.get('states', stateId(task.id, agent.id));
      if (row === undefined) return undefined;
      return { value: (row.data['state'] ?? {}) as JsonObject, version: row.version };
    },
    set: async (value, { ifVersion } = {}) =>
      (await putState(rows, owner, value, ifVersion)).version,
  };
}

function eventsFor({ task, agent, services: { log } }: ContextOptions): HandlerEvents {
  return {
    list: (options = {}) => listEvents(log, { taskId: task.id, agentId: agent.id, ...options }),
  };
}

function handlerStopped(taskId: string): ServerError {
  const message = `Cannot write to task ${taskId}: the handler was stopped. Check context.signal before you write`;
  return new ServerError('bad_state', message, { task: taskId });
}
