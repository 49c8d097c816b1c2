import {
  emptyState,
  type FoldState,
  type RunId,
  runId,
  sessionId,
  type TraceContext,
  toArray,
} from '@millrace/core';
import type { Content } from '../../contract/content.ts';
import type { SyncAgent } from '../../contract/served-agent.ts';
import { reasonOf } from '../../contract/server-error.ts';
import type { Answer } from '../../contract/service.ts';
import type { AgentInfo } from '../../contract/task.ts';
import type { LocalJournal } from '../../journal/local-journal.ts';
import { abandonTurn, closeTurn } from '../../journal/turn-closing.ts';
import { messageDrafts, withMetadata } from '../../messages/message-drafts.ts';
import { assertUsable } from '../../stores/task-status.ts';
import type { UpdateWarnings } from '../../updates/update-warnings.ts';
import { logAnswer } from '../answers.ts';
import type { RunnerOptions } from '../runner-options.ts';
import { stopKindOf } from '../task-queues.ts';
import { createContext } from './handler-context.ts';
import { runSync, type TurnEnd } from './sync-answer.ts';
import { exportRun } from './tracing.ts';

interface SyncJob {
  readonly taskId: string;
  readonly info: AgentInfo;
  readonly agent: SyncAgent;
  readonly content: Content;
  /** The same again is answered with what there is. */
  readonly key?: string | undefined;
  /** What the answer is part of. */
  readonly trace?: TraceContext | undefined;
}

interface Begun {
  readonly begin: (answer: Answer) => void;
  /** Aborts when the answer is not kept any more. */
  readonly lost: AbortController;
}

/** What the generator numbers itself begins at 0; what is opened by hand must not meet it. */
const firstHandIndex = 1000;

/** Answers messages to sync agents. */
export class SyncRunner {
  readonly #options: RunnerOptions;
  /** Answers that are about to begin, by their task and key: the log does not know of them yet. */
  readonly #beginning = new Map<string, Promise<Answer>>();
  /** Those that go on in this process. */
  readonly #going = new Map<RunId, AbortController>();

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  /** What was sent with the key before has this answer. */
  async known(taskId: string, key: string): Promise<Answer | undefined> {
    const beginning = this.#beginning.get(`${taskId} ${key}`);
    if (beginning !== undefined) return beginning;
    const state = await this.#options.journals.use(taskId, (journal) => journal.state());
    const run = keyedRun(state, key);
    return run && this.#told(run, emptyState(sessionId(taskId)));
  }

  /** Resolves when the message is stored and its answer has begun, which goes on whoever looks. */
  async answer(job: SyncJob): Promise<Answer> {
    const { taskId, key } = job;
    if (key === undefined) return this.#begin(job);
    const name = `${taskId} ${key}`;
    const beginning = this.#beginning.get(name) ?? this.#begin(job);
    this.#beginning.set(name, beginning);
    return beginning.finally(() => this.#beginning.delete(name));
  }

  #begin(job: SyncJob): Promise<Answer> {
    const begun = Promise.withResolvers<Answer>();
    const lost = new AbortController();
    const { works, journals } = this.#options;
    const run = (signal: AbortSignal) =>
      journals.use(job.taskId, (journal) =>
        this.#run(job, journal, signal, { begin: begun.resolve, lost }),
      );
    works.run(job.taskId, run).catch((error: unknown) => {
      begun.reject(error);
      lost.abort(error);
    });
    return begun.promise;
  }

  /** The answer that a run is. Where it goes on in another process, the log tells its end. */
  #told(run: RunId, before: FoldState): Answer {
    const lost = this.#going.get(run) ?? new AbortController();
    return logAnswer({
      ...{ log: this.#options.log, taskId: before.session, before, run, lost: lost.signal },
      begins: ({ fact }) => fact?.type === 'run_started' && fact.runId === run,
    });
  }

  async #run(
    { taskId, info, agent, content, key, trace }: SyncJob,
    journal: LocalJournal,
    signal: AbortSignal,
    { begin, lost }: Begun,
  ): Promise<void> {
    const { ids, clock, graceMs, tasks } = this.#options;
    const message = messageDrafts(content, ids);
    // First of all what a dead process left is ended: it is not this answer that failed.
    await journal.append([]);
    const before = await journal.state();
    const known = key === undefined ? undefined : keyedRun(before, key);
    if (known !== undefined) return begin(this.#told(known, emptyState(before.session)));
    const task = await tasks.setStatus(taskId, (now) => usable(taskId, now), null);
    const turn = await journal.beginTurn(
      (run) =>
        key === undefined ? message : message.map((draft) => withMetadata(draft, { key, run })),
      trace,
    );
    const startMs = clock.now();
    const { runId } = turn;
    this.#going.set(runId, lost);
    begin(this.#told(runId, before));
    const services = this.#options;
    const firstIndex = firstHandIndex;
    const context = createContext({
      ...{ task, agent: info, journal, turn, signal, firstIndex, services },
    });
    try {
      const end = await runSync(agent, content, { turn, context, ids, clock, graceMs });
      await closeTurn(journal, turn, end.stop);
      await this.#settle(taskId, end, signal);
      await turn.finish(end.stop, end.error);
      exportRun(this.#options, { task, agent: info, turn, startMs, ...end });
      this.#warn(taskId, end.warnings);
    } catch (error) {
      await this.#fail(taskId, `Cannot keep the answer: ${reasonOf(error)}`);
      await abandonTurn(journal, turn);
      throw error;
    } finally {
      this.#going.delete(runId);
    }
  }

  /** Whoever stops it says so in the row; where this answer said since that the task runs, it is said again. */
  async #settle(taskId: string, { error, stop }: TurnEnd, signal: AbortSignal): Promise<void> {
    if (error !== undefined) return this.#fail(taskId, error.message);
    if (stop.reason !== 'aborted') return;
    const { tasks } = this.#options;
    const whileOpen = (now: string) => (now === 'RUNNING' ? ('INTERRUPTED' as const) : undefined);
    const isClosing = stopKindOf(signal) === 'close_server';
    const reason = isClosing ? 'The server stopped. Send a message to go on' : 'Task interrupted';
    await tasks.setStatus(taskId, whileOpen, reason);
  }

  async #fail(taskId: string, reason: string): Promise<void> {
    const { tasks } = this.#options;
    await tasks.setStatus(taskId, (now) => (now === 'RUNNING' ? 'FAILED' : undefined), reason);
  }

  #warn(taskId: string, warnings: UpdateWarnings): void {
    const odd = Object.entries(warnings).filter(([, count]) => count > 0);
    if (odd.length === 0) return;
    const said = odd.map(([name, count]) => `${count} ${name}`).join(', ');
    this.#options.onDiagnostic(`Task ${taskId}: updates of the agent were odd: ${said}`);
  }
}

function usable(taskId: string, now: Parameters<typeof assertUsable>[1]): 'RUNNING' | undefined {
  assertUsable(taskId, now);
  return now === 'RUNNING' ? undefined : 'RUNNING';
}

/** The run that answers a message which was sent with a key: the message's item has both. */
function keyedRun({ items }: FoldState, key: string): RunId | undefined {
  const said = toArray(items).find(({ metadata }) => metadata?.['key'] === key);
  const run = said?.metadata?.['run'];
  return typeof run === 'string' ? runId(run) : undefined;
}
