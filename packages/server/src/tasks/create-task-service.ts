import type { SpanExporter } from '@millrace/agent';
import type { Ids } from '@millrace/core';
import type { Clock, Log } from '@millrace/log';
import { AgentDirectory } from '../agents/agent-directory.ts';
import { agentService } from '../agents/agent-service.ts';
import { AgentStore } from '../agents/agent-store.ts';
import { AsyncRunner } from '../agents/handlers/async-runner.ts';
import { SyncRunner } from '../agents/handlers/sync-runner.ts';
import { spanId } from '../agents/handlers/tracing.ts';
import { assertSameLog } from '../agents/loops/assert-same-log.ts';
import { loopJournalOptions } from '../agents/loops/loop-commands.ts';
import { LoopRunner } from '../agents/loops/loop-runner.ts';
import type { RemoteLimits } from '../agents/remote/remote-call.ts';
import { RemoteHealth } from '../agents/remote/remote-health.ts';
import type { LogEvent } from '../agents/run-log.ts';
import type { RunnerOptions } from '../agents/runner-options.ts';
import { TaskQueues } from '../agents/task-queues.ts';
import type { Rows } from '../contract/rows.ts';
import type { LoopAgent, ServedAgent } from '../contract/served-agent.ts';
import { diagnosticLine } from '../contract/server-error.ts';
import type { TaskService } from '../contract/service.ts';
import { JournalPool } from '../journal/journal-pool.ts';
import { messageService, type WithJournal } from '../messages/message-service.ts';
import { AgentNetwork } from '../network/agent-network.ts';
import { AgentKeys } from '../stores/agent-keys.ts';
import { FileStore, fileService } from '../stores/file-store.ts';
import { notFoundError } from '../stores/row-access.ts';
import { spanService, stateService, trackerService } from '../stores/row-services.ts';
import { StorageHealth } from '../stores/storage-health.ts';
import { TaskChanges, TaskRowPoller } from '../stores/task-changes.ts';
import { eventService } from '../stores/task-events.ts';
import { failedIfRunning } from '../stores/task-status.ts';
import { TaskStore } from '../stores/task-store.ts';
import { Recovery, TaskScanner } from './recovery.ts';
import { type ServedSessions, servedSessions } from './served-sessions.ts';
import { TaskStopper } from './task-stops.ts';
import { tasksService } from './tasks-service.ts';

export interface TaskServiceOptions {
  readonly agents: readonly ServedAgent[];
  readonly log: Log;
  readonly rows: Rows;
  readonly clock: Clock;
  readonly ids: Ids;
  /**
   * Returns a random number from 0 up to 1. It spreads the scans of several servers over time. Default:
   * `Math.random`.
   */
  readonly random?: (() => number) | undefined;
  /**
   * The secret from which the API keys of remote agents are derived. If the secret changes, these keys become
   * invalid.
   */
  readonly secret: string | Uint8Array;
  /**
   * Decides to which addresses of remote agents the server may connect. Default: this machine and the
   * internet.
   */
  readonly network?: AgentNetwork | undefined;
  /** True if every request needs a token. Default: true. */
  readonly isGuarded?: boolean | undefined;
  /** Maximum time to wait for stopped work, in milliseconds. Default: 1,000. */
  readonly graceMs?: number | undefined;
  /** The time for which a task's lease is kept without a write, in milliseconds. Default: 500. */
  readonly idleMs?: number | undefined;
  /** The time to wait for a task's lease that a different process holds, in milliseconds. Default: 2,000. */
  readonly leaseWaitMs?: number | undefined;
  /**
   * The interval of the scan for tasks that different processes abandoned or stopped, in milliseconds.
   * Default: 3,000.
   */
  readonly watchMs?: number | undefined;
  readonly health?: { readonly everyMs: number; readonly timeoutMs: number } | undefined;
  readonly remote?: RemoteLimits | undefined;
  /**
   * Receives descriptions of unexpected events that do not affect a result. They never contain content. Each is
   * one line without control characters.
   */
  readonly onDiagnostic?: ((problem: string) => void) | undefined;
  /** Logs failures of runs. Default: failures are not logged. */
  readonly logEvent?: LogEvent | undefined;
  /** Called with the id of a token after it was revoked with its agent or its task. */
  readonly onTokenRevoked?: ((id: string) => void) | undefined;
  /** Receives the spans of runs. */
  readonly exporter?: SpanExporter | undefined;
}

export interface RunningTaskService extends TaskService {
  /** Tracks whether the stores accept writes. */
  readonly storage: StorageHealth;
  /** Sessions that other programs have created. */
  readonly sessions: ServedSessions;
  /** Publishes changes of task rows in this process. */
  readonly changes: Pick<TaskChanges, 'listen'>;
  /** Resumes unfinished work of processes that crashed or closed. */
  start(): Promise<void>;
  /** Refuses new work, and stops the current work within a limited time. Streamed content is stored. */
  close(): Promise<void>;
}

export function createTaskService(options: TaskServiceOptions): RunningTaskService {
  const { log, rows, clock, ids, graceMs = 1000, idleMs } = options;
  const onDiagnostic = (problem: string) => options.onDiagnostic?.(diagnosticLine(problem));
  const { leaseWaitMs = 2000, watchMs = 3000, random = Math.random } = options;
  const changes = new TaskChanges();
  const tasks = new TaskStore({ rows, log, ids, onChange: (task) => changes.publish(task) });
  const agents = new AgentStore(rows, ids, () => clock.now());
  const keys = new AgentKeys(options.secret, options.isGuarded ?? true);
  const network = options.network ?? new AgentNetwork(['loopback', 'public']);
  const directory = new AgentDirectory({
    ...{ rows: agents, served: options.agents, keys, network, clock, onDiagnostic },
    limits: options.remote,
  });
  const onRepaired = (taskId: string, epoch: number) =>
    failInterrupted({ taskId, epoch }, tasks, directory);
  const journals = new JournalPool({ log, clock, ids, idleMs, leaseWaitMs, onRepaired });
  const queues = new TaskQueues(clock, graceMs);
  const storage = new StorageHealth({ log, rows, clock, ids, onDiagnostic });
  const spans = spanService(rows, () => spanId(ids.execution()));
  const trackers = trackerService(rows);
  const files = new FileStore(rows, log);
  const shared: RunnerOptions = {
    files,
    ...{ log, rows, clock, ids, spans, trackers, tasks, journals, queues, graceMs, onDiagnostic },
    storage,
    exporter: options.exporter,
    logEvent: options.logEvent,
  };
  const sync = new SyncRunner(shared);
  const async = new AsyncRunner(shared, async (agentId) => {
    const found = await directory.find(agentId);
    return found?.agent.type === 'async' ? { info: found.info, agent: found.agent } : undefined;
  });
  const loops = new LoopRunner(shared, (agent) => servedName(options.agents, agent));
  const running = { ...shared, directory, async, loops };
  const { onTokenRevoked = () => {} } = options;
  const stopper = new TaskStopper({ ...running, onTokenRevoked });
  const { everyMs = 30_000, timeoutMs = 5000 } = options.health ?? {};
  const health = new RemoteHealth({ agents, network, clock, everyMs, timeoutMs, onDiagnostic });
  const recovery = new Recovery(running);
  const scanner = new TaskScanner({ ...running, recovery, everyMs: watchMs, random });
  const rowPoller = new TaskRowPoller({ rows, changes, clock, everyMs: watchMs / 3, onDiagnostic });
  const withJournal: WithJournal = async (taskId, work) => {
    const { agentId } = await tasks.get({ id: taskId });
    const isLoop = (await directory.find(agentId))?.agent.type === 'loop';
    return journals.use(taskId, work, isLoop ? loopJournalOptions : {});
  };
  const assertTask = async (taskId: string, agentId: string) => {
    const stored = await tasks.get({ id: taskId });
    if (stored.agentId !== agentId) throw notFoundError('agent', agentId);
  };
  return {
    ...{ changes, storage },
    sessions: servedSessions({ ...running, agents, recovery }),
    agents: agentService({
      ...{ rows, agents, tasks, directory, keys, network, onTokenRevoked },
    }),
    tasks: tasksService({ ...running, agents, sync, stopper }),
    messages: messageService(withJournal, ids),
    events: eventService(log, tasks, assertTask),
    states: stateService(rows, assertTask),
    spans,
    trackers,
    files: fileService(files, tasks),
    async start() {
      for (const agent of options.agents)
        if (agent.type === 'loop') await assertSameLog(log, agent, ids);
      await directory.start();
      await recovery.recoverAll();
      health.start();
      scanner.start();
      rowPoller.start();
    },
    async close() {
      const timers = [health.stop(), scanner.stop(), rowPoller.stop()];
      await Promise.all([queues.close(), loops.close(), ...timers]);
      await journals.close();
    },
  };
}

function servedName(all: readonly ServedAgent[], agent: LoopAgent['agent']): string {
  return all.find((served) => served.type === 'loop' && served.agent === agent)?.name ?? agent.name;
}

/**
 * Sets the status of a sync agent's task to failed after its process crashed. No process can continue the
 * answer. An async agent gets its events again instead.
 */
async function failInterrupted(
  { taskId, epoch }: { readonly taskId: string; readonly epoch: number },
  tasks: TaskStore,
  directory: AgentDirectory,
): Promise<void> {
  await tasks.claim(taskId, epoch, { isRunning: false });
  const stored = await tasks.find({ id: taskId });
  const agent = stored && (await directory.find(stored.agentId))?.agent;
  if (agent?.type !== 'sync') return;
  const reason =
    'interrupted: the process crashed during the answer. The partial answer is stored. Send a message to continue';
  await tasks.setStatus(taskId, failedIfRunning, reason, epoch);
}
